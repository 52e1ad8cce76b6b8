"""A child process that does one job, tells of it in lines of JSON, and never outlives its parent.

`python -m pacbound.tables.child` reads a pickled job from its standard input and keeps that pipe
open: its end is the end of the parent, however the parent ended, and then the child ends too.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from pacbound.errors import BadInput
from pacbound.tables.cell import Cell, Progress
from pacbound.tables.place import Busy, Place

__all__ = ["Child", "Event", "Job", "ProbeCells", "RunCell"]

Event = Mapping[str, Any]
Send = Callable[[Event], None]
INTERVAL = 0.2  # seconds between reports of progress
PATIENCE = 1.0  # seconds: another process's look at the lock is shorter


class Job(Protocol):
    """What a child process does."""

    @property
    def threads(self) -> int:
        """To compute with."""

    def do(self, send: Send) -> None:
        """Work, sending events."""


@dataclass(frozen=True)
class RunCell:
    """Run or resume one cell. Sends `progress`, then `done`, `busy` or `failed`."""

    cell: Cell
    place: Place
    threads: int

    def do(self, send: Send) -> None:
        try:
            with self.place.locked(PATIENCE):
                self.place.tidy()
                self._run(send)
        except Busy:
            send({"event": "busy"})

    def _run(self, send: Send) -> None:
        told = -math.inf
        stage = ""

        def report(progress: Progress) -> None:
            nonlocal told, stage
            if progress.stage != stage or time.monotonic() - told > INTERVAL:
                told, stage = time.monotonic(), progress.stage
                send({"event": "progress", **asdict(progress)})

        if not self.cell.finished(self.place.path).finished:  # it may be, by another process
            try:
                self.cell.run(self.place.path, self.threads, report)
            except Exception as error:
                send({"event": "failed", "reason": _in_one_line(error)})
                if not isinstance(error, BadInput):
                    traceback.print_exc()
                return
        send({"event": "done"})


@dataclass(frozen=True)
class ProbeCells:
    """Time the work of a cell of each kind. Sends `pace` for each that could be timed."""

    cells: Sequence[Cell]
    threads: int

    def do(self, send: Send) -> None:
        for cell in self.cells:
            send({"event": "probing", "kind": cell.kind})
            # What stops the trial will stop the cell, and is told there.
            with suppress(Exception):
                send({"event": "pace", "kind": cell.kind, "paces": dict(cell.probe(self.threads))})


def _in_one_line(error: Exception) -> str:
    words = " ".join(str(error).split())
    if isinstance(error, BadInput):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


class Child:
    """The parent's side: starts the process and puts its events, with `key`, on a queue.

    The last event of every child is `ended`, with its exit code.
    """

    def __init__(
        self, key: str, job: Job, events: queue.Queue[tuple[str, Event]], errors: Path | None
    ) -> None:
        self.key = key
        environment = {
            **os.environ,
            # The same modules as in the parent, wherever it was started from.
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            # Read by torch and numpy when they are imported.
            "OMP_NUM_THREADS": str(job.threads),
            "MKL_NUM_THREADS": str(job.threads),
        }
        # Ctrl-C reaches the whole group; the parent alone decides what it means. A blocked signal
        # stays blocked in the child, and is not lost in the parent.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with open(errors or os.devnull, "wb") as stderr:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "pacbound.tables.child"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    env=environment,
                )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # a child that is dead already says `ended`
            self.process.stdin.write(pickle.dumps(job))
            self.process.stdin.flush()
        threading.Thread(target=self._listen, args=(events,), daemon=True).start()

    def _listen(self, events: queue.Queue[tuple[str, Event]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(ValueError):  # a line cut short by a kill
                events.put((self.key, json.loads(line)))
        events.put((self.key, {"event": "ended", "code": self.process.wait()}))

    def stop(self) -> None:
        """End the process; its files are whole at any moment."""
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _end_with_parent() -> None:
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(1)


def main() -> None:
    """The child's side."""
    # What libraries print must not get between the events.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    job: Job = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def send(event: Event) -> None:
        output.write(json.dumps(event) + "\n")

    job.do(send)


if __name__ == "__main__":
    main()
