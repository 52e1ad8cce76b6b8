"""A cell's folder: found by digest, used by one process at a time."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pacbound.errors import FileError, PacboundError
from pacbound.experiments.tables.cell import Cell
from pacbound.files import ensure_writable, write_whole
from pacbound.workers.jobs import ERRORS, Busy

__all__ = ["Place"]

LOCK, FAILURE = "lock", "failure.txt"


@dataclass(frozen=True)
class Place:
    """Where one cell keeps its files. Another setting gives another digest and another folder."""

    path: Path

    @classmethod
    def of(cls, cell: Cell, root: Path) -> Place:
        """The place of a cell in a table's folder."""
        return cls(root / f"{cell.name}-{cell.digest[:12]}")

    def make(self) -> None:
        """Make the folder; PacboundError where it cannot be."""
        ensure_writable(self.path / LOCK)

    @property
    def errors(self) -> Path:
        """Where what the child process wrote to stderr goes."""
        return self.path / ERRORS

    @contextmanager
    def locked(self, patience: float = 0.0) -> Iterator[None]:
        """Hold the cell; Busy if another process does for longer than `patience` seconds.

        The kernel lets go of the lock when its process ends, however it ends: a lock is never
        left behind by a kill.
        """
        until = time.monotonic() + patience
        try:
            handle = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise FileError(f"cannot write {self.path / LOCK}: {error.strerror}") from error
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= until:
                        raise Busy(str(self.path)) from None
                    time.sleep(0.05)
            yield
        finally:
            os.close(handle)

    def busy(self) -> bool:
        """Whether a process is at work here; changes nothing, so it serves `--show` too."""
        try:
            handle = os.open(self.path / LOCK, os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(handle)
        return False

    def tidy(self) -> None:
        """Remove the halves of files that a killed process left, and the failure of last time.

        Valid when: the lock is held.
        """
        for path in self.path.glob(".*"):
            if path.is_file():
                path.unlink(missing_ok=True)
        (self.path / FAILURE).unlink(missing_ok=True)

    def discard(self, names: Sequence[str]) -> None:
        """Remove files of a finished cell that a kill between its last two acts left behind."""
        left = [path for name in names if (path := self.path / name).exists()]
        if left:
            with suppress(Busy, PacboundError, OSError), self.locked():
                for path in left:
                    path.unlink(missing_ok=True)

    def fail(self, reason: str) -> None:
        """Leave the reason for `--show`, if the disk will take it."""
        with suppress(PacboundError):
            write_whole(self.path / FAILURE, lambda stream: stream.write(reason.encode()))

    def failure(self) -> str:
        """Why the last attempt failed; empty if it did not."""
        with suppress(OSError):
            return (self.path / FAILURE).read_text(encoding="utf-8")
        return ""

    def state(self, cell: Cell, flaw: str) -> tuple[str, str]:
        """What an unfinished cell is doing, in a word, and what more there is to say."""
        progress = cell.progress(self.path)
        reached = progress.text if progress else ""
        if self.busy():
            return "running", reached
        if flaw:
            return "invalid", flaw
        if self.failure():
            return "failed", self.failure()
        return ("stopped", reached) if progress else ("not run", "")
