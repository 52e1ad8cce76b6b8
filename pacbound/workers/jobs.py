"""Long jobs: each works on the files of a folder, and resumes from them after a kill."""

from __future__ import annotations

import queue
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from pacbound.errors import PacboundError
from pacbound.workers.child import Child, Event, Orders, Send, in_one_line

__all__ = ["ERRORS", "Busy", "Events", "FolderJob", "LocalJobs", "Running"]

ERRORS = "errors.txt"  # in the folder: the stderr of the job's own process

Events = queue.Queue[tuple[str, Event]]


class Busy(Exception):
    """Another process is working in the folder."""


class Running(Protocol):
    """A running job. It puts events on the queue, with its key; the last one is `ended`."""

    def stop(self) -> None:
        """Stop it. Its file writes are atomic."""


class FolderJob(ABC):
    """Sends `progress` during the work, then `done`, `busy` or `failed`. It is sent by pickle."""

    threads: int

    @property
    @abstractmethod
    def folder(self) -> Path:
        """The folder of its files."""

    @abstractmethod
    def at(self, folder: Path) -> FolderJob:
        """The same job on the files of another folder."""

    @abstractmethod
    def held(self) -> AbstractContextManager[None]:
        """Locks the folder against other processes; Busy if one is working there."""

    @abstractmethod
    def work(self, send: Send) -> None:
        """Do the remaining work. Valid when: the folder is locked."""

    def do(self, send: Send, orders: Orders) -> None:
        """Lock the folder, work, and send the outcome: all in this process."""
        send(self.outcome(lambda: self.done(send)))

    def done(self, send: Send) -> Event:
        """Work to the end. The traceback of a fault goes to the stderr of its process."""
        try:
            self.work(send)
        except Exception as error:
            if not isinstance(error, PacboundError):
                traceback.print_exc()
            raise
        return {"event": "done"}

    def outcome(self, work: Callable[[], Event]) -> Event:
        """The outcome: the result of `work` with the folder locked, or why there is none."""
        try:
            with self.held():
                return work()
        except Busy:
            return {"event": "busy"}
        except Exception as error:
            return {"event": "failed", "reason": in_one_line(error)}


class LocalJobs:
    """Each job in its own child process."""

    def begin(self, key: str, job: FolderJob, events: Events) -> Running:
        """Start a job; its events have this key."""
        return Child(key, job, events, job.folder / ERRORS)
