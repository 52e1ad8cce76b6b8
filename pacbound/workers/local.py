"""Chunks in processes on this machine.

With `concurrent.futures` or loky, one killed worker would end the whole pool. Workers of
`concurrent.futures` also outlive a killed parent.
"""

from __future__ import annotations

import os
import pickle
import queue
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any

from pacbound.errors import PacboundError, WorkerError
from pacbound.workers.child import Child, Event, Orders, Send, in_one_line
from pacbound.workers.engine import Chunk, Here, Work, bundles, single_threaded
from pacbound.workers.jobs import LocalJobs

__all__ = ["LocalProcesses"]

HERE = 2.0  # seconds: shorter work is not worth starting a process
AHEAD = 2  # bundles assigned to a worker, so that it never waits for the next
MOST_DEATHS = 3  # per worker, without a result in between


@dataclass(frozen=True)
class DoChunks:
    """Run the ordered chunks. Sends `result` for each, and `bundle` after each order."""

    threads: int = 1

    def do(self, send: Send, orders: Orders) -> None:
        serial = 0
        chunk: Chunk = _no_work
        while True:
            order = orders.get()
            try:
                if order["serial"] != serial:  # the path may belong to earlier work
                    chunk = single_threaded(_read(order["path"]).begin())
                    serial = order["serial"]
                for number in order["numbers"]:
                    send({"event": "result", "number": number, "result": chunk(number)})
            except Exception as error:
                mine = not isinstance(error, PacboundError)
                trace = traceback.format_exc() if mine else ""
                send({"event": "failed", "reason": in_one_line(error), "trace": trace})
                return
            send({"event": "bundle"})


def _no_work(number: int) -> Any:
    raise AssertionError(f"chunk {number} without any work")


def _read(path: str) -> Work:
    """Read from the memory that all workers share. The parent wrote it, so it may be any object."""
    import torch

    work: Work = torch.load(path, mmap=True, weights_only=False)
    return work


class _CannotBeShared(Exception):
    """The work has a part that cannot be pickled, such as a class inside a function."""


def _write(work: Work, stream: IO[bytes]) -> None:
    import torch

    try:
        torch.save(work, stream)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise _CannotBeShared from error
    stream.flush()


@contextmanager
def _shared(work: Work) -> Iterator[str]:
    """The work in memory that other processes can map, until this process ends for any reason."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("pacbound")
        try:
            with os.fdopen(handle, "w+b") as stream:
                _write(work, stream)
                yield f"/proc/{os.getpid()}/fd/{stream.fileno()}"
        except OSError as error:
            raise WorkerError(f"cannot share the work among processes: {error}") from error
    else:
        with tempfile.NamedTemporaryFile(prefix="pacbound-") as file:
            _write(work, file)
            yield file.name


@dataclass
class _Worker:
    child: Child
    given: deque[list[int]] = field(default_factory=deque)  # bundles; the current one first


class LocalProcesses(LocalJobs, AbstractContextManager["LocalProcesses"]):
    """Processes with one thread each, which live until this is closed.

    A killed worker is replaced, and its unfinished chunks are run again. Very short work runs
    without workers, and so does work that cannot be sent to other processes.

    Example:
        >>> with LocalProcesses(2) as engine:
        ...     pass
    """

    def __init__(self, workers: int, here: float = HERE) -> None:
        self.count, self.here = workers, here
        self._workers: dict[str, _Worker] = {}
        self._events: queue.Queue[tuple[str, Event]] = queue.Queue()
        self._started = 0
        self._serial = 0  # the number of the current work
        self._deaths = 0  # since the last result

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        for worker in self._workers.values():
            worker.child.process.kill()  # it holds nothing that could be lost
        for worker in self._workers.values():
            worker.child.stop()
        self._workers.clear()
        self._events = queue.Queue()

    def results(self, work: Work, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        rest = list(numbers)
        if not self._workers:
            chunk, until = single_threaded(work.begin()), time.monotonic() + self.here
            while rest and time.monotonic() < until:
                yield rest[0], chunk(rest.pop(0))
        if rest:
            yield from self._by_workers(work, rest)

    def _by_workers(self, work: Work, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        self._serial += 1
        waiting = deque(list(part) for part in bundles(numbers, self.count))
        left = set(numbers)
        try:
            with _shared(work) as path:
                yield from self._serve(path, waiting, left)
        except _CannotBeShared:  # before any chunk was run
            yield from Here().results(work, numbers)
        finally:
            if left:  # abandoned work: its results must not be taken for those of other work
                self._stop()

    def _serve(
        self, path: str, waiting: deque[list[int]], left: set[int]
    ) -> Iterator[tuple[int, Any]]:
        while len(self._workers) < self.count:
            self._start()
        for worker in self._workers.values():
            self._give(worker, path, waiting)
        while left or any(worker.given for worker in self._workers.values()):
            key, event = self._events.get()
            worker = self._workers[key]
            if event["event"] == "result":
                number = event["number"]
                worker.given[0].remove(number)
                self._deaths = 0
                left.discard(number)
                yield number, event["result"]
            elif event["event"] == "bundle":
                worker.given.popleft()
                self._give(worker, path, waiting)
            elif event["event"] == "failed":
                if event["trace"]:
                    raise RuntimeError(f"{event['reason']}\n{event['trace']}")
                raise WorkerError(event["reason"])
            elif event["event"] == "ended":
                del self._workers[key]
                waiting.extendleft(part for part in reversed(worker.given) if part)
                self._bury(event["code"])
                self._give(self._start(), path, waiting)

    def _start(self) -> _Worker:
        key = str(self._started)
        self._started += 1
        self._workers[key] = _Worker(Child(key, DoChunks(), self._events, None))
        return self._workers[key]

    def _give(self, worker: _Worker, path: str, waiting: deque[list[int]]) -> None:
        while waiting and len(worker.given) < AHEAD:
            worker.given.append(waiting.popleft())
            worker.child.order({"path": path, "serial": self._serial, "numbers": worker.given[-1]})

    def _bury(self, code: int) -> None:
        self._deaths += 1
        if self._deaths >= MOST_DEATHS * self.count:
            how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
            raise WorkerError(
                f"worker processes end without doing any work (the last: {how}); "
                "with fewer workers each has more memory"
            )
