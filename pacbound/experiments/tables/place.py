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
    """The folder of one cell. Another setting gives another digest and another folder."""

    path: Path

    @classmethod
    def of(cls, cell: Cell, root: Path) -> Place:
        """The folder of a cell in a table's folder."""
        return cls(root / f"{cell.name}-{cell.digest[:12]}")

    def make(self) -> None:
        """Create the folder; PacboundError if this fails."""
        ensure_writable(self.path / LOCK)

    @property
    def errors(self) -> Path:
        """The file for the stderr of the child process."""
        return self.path / ERRORS

    @contextmanager
    def locked(self, patience: float = 0.0) -> Iterator[None]:
        """Lock the cell; Busy if another process holds the lock for more than `patience` seconds.

        The kernel releases the lock when the process ends for any reason, so a kill never leaves a
        lock behind.
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
        """Whether a process is working here. It changes nothing, so `--show` can use it."""
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
        """Remove the partial files of a killed process, and the last failure.

        Valid when: the lock is held.
        """
        for path in self.path.glob(".*"):
            if path.is_file():
                path.unlink(missing_ok=True)
        (self.path / FAILURE).unlink(missing_ok=True)

    def discard(self, names: Sequence[str]) -> None:
        """Remove files of a finished cell that a kill between the last two steps left."""
        left = [path for name in names if (path := self.path / name).exists()]
        if left:
            with suppress(Busy, PacboundError, OSError), self.locked():
                for path in left:
                    path.unlink(missing_ok=True)

    def fail(self, reason: str) -> None:
        """Store the reason for `--show`, if the disk has space."""
        with suppress(PacboundError):
            write_whole(self.path / FAILURE, lambda stream: stream.write(reason.encode()))

    def failure(self) -> str:
        """Why the last attempt failed; empty if it did not."""
        with suppress(OSError):
            return (self.path / FAILURE).read_text(encoding="utf-8")
        return ""

    def state(self, cell: Cell, flaw: str) -> tuple[str, str]:
        """The state of an unfinished cell in one word, and the details."""
        progress = cell.progress(self.path)
        reached = progress.text if progress else ""
        if self.busy():
            return "running", reached
        if flaw:
            return "invalid", flaw
        if self.failure():
            return "failed", self.failure()
        return ("stopped", reached) if progress else ("not run", "")
