"""The epochs of a learned prior in a cell's folder: its progress and pace, read without torch."""

from __future__ import annotations

import json
from pathlib import Path

from pacbound.errors import FileError

__all__ = ["PriorLog"]


class PriorLog:
    """One line per finished epoch of the prior, with its seconds."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, epoch: int, seconds: float) -> None:
        """Add an epoch. An epoch that is run again after a kill is added again."""
        line = json.dumps({"epoch": epoch, "seconds": round(seconds, 3)})
        try:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {error.strerror or error}") from error

    def epochs(self) -> dict[int, float]:
        """The seconds of every epoch so far, by its number."""
        found: dict[int, float] = {}
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return found
        for line in lines:
            try:
                record = json.loads(line)
                found[int(record["epoch"])] = float(record["seconds"])
            except (ValueError, KeyError, TypeError):
                break  # a line truncated by a kill
        return found
