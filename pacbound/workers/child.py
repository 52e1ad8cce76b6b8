"""A child process that runs one job, reports in lines of JSON, and never outlives its parent.

`python -m pacbound.workers.child` reads a pickled job from its standard input, then orders, one
line of JSON each. The pipe stays open. When the parent ends for any reason, the pipe closes and
the child ends too.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from pacbound.errors import PacboundError
from pacbound.memory import keeping_memory

__all__ = ["Child", "Event", "Job", "Orders", "Send", "in_one_line"]

Event = Mapping[str, Any]
Send = Callable[[Event], None]
Orders = queue.SimpleQueue[Event]


class Job(Protocol):
    """The job of a child process."""

    @property
    def threads(self) -> int:
        """The number of threads."""

    def do(self, send: Send, orders: Orders) -> None:
        """Run the job and send events."""


def in_one_line(error: Exception) -> str:
    """What went wrong, for the parent to show."""
    words = " ".join(str(error).split())
    if isinstance(error, PacboundError):
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
            # The same modules as in the parent, whatever folder it was started from.
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            # torch and numpy read these when they are imported.
            "OMP_NUM_THREADS": str(job.threads),
            "MKL_NUM_THREADS": str(job.threads),
        }
        # Ctrl-C reaches the whole group, but only the parent decides what it means. A blocked
        # signal stays blocked in the child, and is not lost in the parent.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with open(errors or os.devnull, "wb") as stderr:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "pacbound.workers.child"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    env=environment,
                )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self._write(pickle.dumps(job))
        threading.Thread(target=self._listen, args=(events,), daemon=True).start()

    def order(self, order: Event) -> None:
        """Send the next order."""
        self._write(json.dumps(order).encode() + b"\n")

    def _write(self, content: bytes) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # a dead child sends `ended`
            self.process.stdin.write(content)
            self.process.stdin.flush()

    def _listen(self, events: queue.Queue[tuple[str, Event]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(ValueError):  # a line truncated by a kill
                events.put((self.key, json.loads(line)))
        events.put((self.key, {"event": "ended", "code": self.process.wait()}))

    def stop(self) -> None:
        """Kill the process. Its file writes are atomic."""
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _receive(source: BinaryIO, orders: Orders) -> None:
    with suppress(OSError, ValueError):
        for line in source:
            orders.put(json.loads(line))
    os._exit(1)


def main() -> None:
    """The child's side."""
    # Output of libraries must not mix with the events.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    # Not sys.stdin: the interpreter closes that at its end, and aborts while a thread is reading.
    source = os.fdopen(os.dup(0), "rb")
    job: Job = pickle.load(source)
    orders: Orders = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(source, orders), daemon=True).start()

    def send(event: Event) -> None:
        output.write(json.dumps(event) + "\n")

    with keeping_memory():
        job.do(send, orders)


if __name__ == "__main__":
    main()
