"""A cell on a worker of a Dask cluster, seen by the pool as a child process."""

from __future__ import annotations

import queue
import tempfile
import threading
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pacbound.errors import WorkerError
from pacbound.experiments.tables.cell import Cell
from pacbound.experiments.tables.jobs import RunCell
from pacbound.experiments.tables.place import LOCK, Busy, Place
from pacbound.files import write_whole
from pacbound.workers.child import Event, in_one_line
from pacbound.workers.cluster import await_workers, connect, is_loss, is_there, lost

__all__ = ["Cluster", "RemoteCell"]

PATIENCE = 1.0  # seconds: another process's look at the lock is shorter
MOST_ATTEMPTS = 5
LOOK = 5.0  # seconds between looks at the scheduler

Files = Mapping[str, bytes]


def run_there(cell: Cell, files: Files, threads: int, topic: str) -> tuple[Event, Files]:
    """Run or resume the cell in a folder of the worker's; what came of it, and its files."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.get_current_task()
    outcome: Event = {"event": "failed", "reason": "it ended without a word"}

    def send(event: Event) -> None:
        nonlocal outcome
        if event["event"] == "progress":
            state = worker.state.tasks.get(task)
            if state is None or state.state == "cancelled":
                raise WorkerError("nobody waits for it any more")
            worker.log_event(topic, dict(event))
        else:
            outcome = event

    with tempfile.TemporaryDirectory(prefix="pacbound-") as name:
        place = Place(Path(name))
        for file, content in files.items():
            (place.path / file).write_bytes(content)
        RunCell(cell, place, threads).do(send, queue.SimpleQueue())
        return outcome, _files(place.path)


def _files(folder: Path) -> Files:
    found = (path for path in sorted(folder.iterdir()) if path.name != LOCK)
    return {path.name: path.read_bytes() for path in found if path.is_file()}


class RemoteCell:
    """Sends a cell and its files to the cluster, and writes the files that come back.

    The place is locked here all the while. A worker that dies takes with it what it had not sent,
    and another begins from the same files.

    Arguments:
        client: Of the cluster's scheduler.
        events: Told of progress, of the outcome, and in the end of `ended`.
    """

    def __init__(
        self,
        client: Any,
        cell: Cell,
        place: Place,
        threads: int,
        events: queue.Queue[tuple[str, Event]],
    ) -> None:
        self._client, self._cell, self._place, self._threads = client, cell, place, threads
        self._events = events
        self._stopped = threading.Event()
        self._future: Any = None
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """Give it up; what is in the folder stays as it was."""
        self._stopped.set()
        if self._future is not None:
            with suppress(Exception):  # a scheduler that is gone has nothing to give up
                self._future.cancel()

    def _tell(self, event: Event) -> None:
        self._events.put((self._cell.name, event))

    def _run(self) -> None:
        try:
            with self._place.locked(PATIENCE):
                self._place.tidy()
                self._tell(self._outcome())
        except Busy:
            self._tell({"event": "busy"})
        except Exception as error:
            self._tell({"event": "failed", "reason": in_one_line(error)})
        self._tell({"event": "ended", "code": 0})

    def _outcome(self) -> Event:
        topic = f"pacbound-{uuid.uuid4().hex}"
        self._client.subscribe_topic(topic, lambda event: self._tell(event[1]))
        try:
            for _ in range(MOST_ATTEMPTS):
                if self._stopped.is_set():
                    break
                sent = _files(self._place.path)
                work = run_there, self._cell, sent, self._threads, topic
                await_workers(self._client)
                self._future = self._client.submit(*work, pure=False)
                try:
                    outcome, files = self._awaited()
                except Exception as error:
                    if is_loss(error):
                        continue
                    raise
                for name, content in files.items():
                    write_whole(
                        self._place.path / name,
                        lambda stream, content=content: stream.write(content),  # type: ignore[misc]
                    )
                for name in sent.keys() - files.keys():  # what the result made needless there
                    (self._place.path / name).unlink(missing_ok=True)
                return outcome
            raise WorkerError(
                "the cluster lost it again and again; are its workers short of memory?"
            )
        finally:
            if is_there(self._client):
                self._client.unsubscribe_topic(topic)

    def _awaited(self) -> tuple[Event, Files]:
        """What came of it, however long it takes, while there is a scheduler."""
        while True:
            try:
                outcome: tuple[Event, Files] = self._future.result(timeout=LOOK)
                return outcome
            except TimeoutError as error:
                if not is_there(self._client):
                    raise lost(self._client) from error


class Cluster:
    """Begins cells on the workers of a Dask scheduler, each of which has the data or gets it.

    Arguments:
        address: Of the scheduler, such as tcp://host:8786.
    """

    def __init__(self, address: str) -> None:
        self._client = connect(address)
        self.workers = max(1, sum(self._client.nthreads().values()))

    def __call__(
        self, cell: Cell, place: Place, threads: int, events: queue.Queue[tuple[str, Event]]
    ) -> RemoteCell:
        return RemoteCell(self._client, cell, place, threads, events)

    def close(self) -> None:
        """Leave the cluster: cells that are not finished are given up there."""
        self._client.close()
