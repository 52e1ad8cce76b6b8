"""A figure of every epoch in a cell's folder, read without torch."""

from __future__ import annotations

import json
from pathlib import Path

from pacbound.errors import FileError

__all__ = ["EpochLog"]


class EpochLog:
    """One line per finished epoch, with one figure.

    Arguments:
        figure: The name of the figure, such as "seconds".
    """

    def __init__(self, path: Path, figure: str) -> None:
        self.path, self.figure = path, figure

    def append(self, epoch: int, value: float) -> None:
        """Add an epoch. An epoch that is run again after a kill is added again."""
        line = json.dumps({"epoch": epoch, self.figure: value})
        try:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {error.strerror or error}") from error

    def epochs(self) -> dict[int, float]:
        """The figure of every epoch so far, by its number."""
        found: dict[int, float] = {}
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return found
        for line in lines:
            try:
                record = json.loads(line)
                found[int(record["epoch"])] = float(record[self.figure])
            except (ValueError, KeyError, TypeError):
                continue  # a line truncated by a kill
        return found
