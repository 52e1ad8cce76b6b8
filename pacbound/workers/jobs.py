"""Long jobs: each works on the files of a folder, and continues from them after a kill."""

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

ERRORS = "errors.txt"  # in the folder: what the job's own process wrote to stderr

Events = queue.Queue[tuple[str, Event]]


class Busy(Exception):
    """Another process is at work in the folder."""


class Running(Protocol):
    """A job at work. It puts events on the queue, with its key; the last one is `ended`."""

    def stop(self) -> None:
        """End it; its files are whole at any moment."""


class FolderJob(ABC):
    """Sends `progress` while it works, then `done`, `busy` or `failed`. It is sent by pickle."""

    threads: int

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Where its files are."""

    @abstractmethod
    def at(self, folder: Path) -> FolderJob:
        """The same job on the files of another folder."""

    @abstractmethod
    def held(self) -> AbstractContextManager[None]:
        """Keeps other processes out of the folder; Busy where one is at work there."""

    @abstractmethod
    def work(self, send: Send) -> None:
        """Do what is left to do. Valid when: the folder is held."""

    def do(self, send: Send, orders: Orders) -> None:
        """Hold the folder, work, and send what came of it: all in this process."""
        send(self.outcome(lambda: self.done(send)))

    def done(self, send: Send) -> Event:
        """Work to the end. The trace of a fault goes to the stderr of the process that has it."""
        try:
            self.work(send)
        except Exception as error:
            if not isinstance(error, PacboundError):
                traceback.print_exc()
            raise
        return {"event": "done"}

    def outcome(self, work: Callable[[], Event]) -> Event:
        """What came of it: the result of `work` while the folder is held, or why there is none."""
        try:
            with self.held():
                return work()
        except Busy:
            return {"event": "busy"}
        except Exception as error:
            return {"event": "failed", "reason": in_one_line(error)}


class LocalJobs:
    """Each job in a child process of its own."""

    def begin(self, key: str, job: FolderJob, events: Events) -> Running:
        """Start a job; its events come with this key."""
        return Child(key, job, events, job.folder / ERRORS)
