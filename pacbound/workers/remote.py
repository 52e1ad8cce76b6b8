"""A job on a worker of a Dask cluster, with the folder's files sent there and back."""

from __future__ import annotations

import tempfile
import threading
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pacbound.errors import WorkerError
from pacbound.files import write_whole
from pacbound.workers.child import Event
from pacbound.workers.jobs import Events, FolderJob
from pacbound.workers.scheduler import MOST_ATTEMPTS, await_workers, is_loss, is_there, lost

__all__ = ["RemoteJob"]

LOOK = 5.0  # seconds between checks of the scheduler

Files = Mapping[str, bytes]


def run_there(job: FolderJob, files: Files, topic: str) -> tuple[Event, Files]:
    """Run the job in a folder of the worker; return the outcome and the files."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.get_current_task()

    def send(event: Event) -> None:
        state = worker.state.tasks.get(task)
        if state is None or state.state == "cancelled":
            raise WorkerError("the job was cancelled")
        worker.log_event(topic, dict(event))

    with tempfile.TemporaryDirectory(prefix="pacbound-") as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        there = job.at(folder)
        return there.outcome(lambda: there.done(send)), _files(folder)


def _files(folder: Path) -> Files:
    """The files with content: a lock has none."""
    contents = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    return {name: content for name, content in contents.items() if content}


class RemoteJob:
    """Sends a job and its files to the cluster, and writes the files that come back.

    The folder stays locked here. If a worker dies, its unsent results are lost, and another worker
    starts from the same files.

    Arguments:
        client: The client of the cluster's scheduler.
        key: The key of its events.
        job: The job to run.
        events: The queue for progress, the outcome, and finally `ended`.
    """

    def __init__(self, client: Any, key: str, job: FolderJob, events: Events) -> None:
        self._client, self._key, self._job, self._events = client, key, job, events
        self._stopped = threading.Event()
        self._future: Any = None
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """Cancel the job. The files in the folder stay as they were."""
        self._stopped.set()
        if self._future is not None:
            with suppress(Exception):  # the scheduler may be gone
                self._future.cancel()

    def _tell(self, event: Event) -> None:
        self._events.put((self._key, event))

    def _run(self) -> None:
        self._tell(self._job.outcome(self._sent))
        self._tell({"event": "ended", "code": 0})

    def _sent(self) -> Event:
        topic = f"pacbound-{uuid.uuid4().hex}"
        self._client.subscribe_topic(topic, lambda event: self._tell(event[1]))
        folder = self._job.folder
        try:
            for _ in range(MOST_ATTEMPTS):
                if self._stopped.is_set():
                    break
                sent = _files(folder)
                await_workers(self._client)
                self._future = self._client.submit(run_there, self._job, sent, topic, pure=False)
                try:
                    outcome, files = self._awaited()
                except Exception as error:
                    if is_loss(error):
                        continue
                    raise
                for name, content in files.items():
                    write_whole(
                        folder / name,
                        lambda stream, content=content: stream.write(content),  # type: ignore[misc]
                    )
                for name in sent.keys() - files.keys():  # files that the job has deleted there
                    (folder / name).unlink(missing_ok=True)
                return outcome
            raise WorkerError(
                "the cluster lost the job again and again; do its workers run out of memory?"
            )
        finally:
            if is_there(self._client):
                self._client.unsubscribe_topic(topic)

    def _awaited(self) -> tuple[Event, Files]:
        """The outcome, however long it takes, as long as there is a scheduler."""
        while True:
            try:
                outcome: tuple[Event, Files] = self._future.result(timeout=LOOK)
                return outcome
            except TimeoutError as error:
                if not is_there(self._client):
                    raise lost(self._client) from error
