"""Work on an existing Dask cluster."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from pacbound.errors import WorkerError
from pacbound.memory import keeping_memory
from pacbound.workers.engine import Chunk, Work, bundles, single_threaded
from pacbound.workers.jobs import Events, FolderJob, Running
from pacbound.workers.remote import RemoteJob
from pacbound.workers.scheduler import (
    MOST_ATTEMPTS,
    await_workers,
    connect,
    is_loss,
    is_there,
    lost,
    versions,
)

__all__ = ["DaskCluster"]

_begun = threading.local()  # on a worker: the work that the thread has started


def do_bundle(work: Work, token: str, numbers: Sequence[int], wanted: str) -> list[Any]:
    """The results of some chunks, on a worker with the required versions."""
    if versions() != wanted:  # a worker that joined later
        raise WorkerError(f"a worker of the Dask cluster has {versions()}; needed: {wanted}")
    if getattr(_begun, "token", None) != token:
        _begun.token, _begun.chunk = token, single_threaded(work.begin())
    chunk: Chunk = _begun.chunk
    with keeping_memory():
        return [chunk(number) for number in numbers]


class DaskCluster(AbstractContextManager["DaskCluster"]):
    """The workers of a Dask scheduler. Each needs the same version of pacbound.

    The work is sent to all workers once. Unfinished chunks of a dead worker are run by others. If
    no worker has the work any more, it is sent again.

    Arguments:
        address: The address of the scheduler, such as tcp://host:8786.
    """

    def __init__(self, address: str) -> None:
        self.client = connect(address)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.close()

    @property
    def count(self) -> int:
        threads: dict[str, int] = self.client.nthreads()
        return max(1, sum(threads.values()))

    def begin(self, key: str, job: FolderJob, events: Events) -> Running:
        return RemoteJob(self.client, key, job, events)

    def results(self, work: Work, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        left = dict.fromkeys(numbers)
        attempts = 0
        while left:
            attempts += 1
            try:
                for number, result in self._attempt(work, list(left)):
                    attempts = 0
                    del left[number]
                    yield number, result
            except OSError as error:
                raise error if is_there(self.client) else lost(self.client) from error
            if left and attempts == MOST_ATTEMPTS:
                raise WorkerError(
                    f"the cluster lost the same work {attempts} times; do its workers run out of "
                    "memory?"
                )

    def _attempt(self, work: Work, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Run what is possible before too many workers are lost."""
        from distributed import as_completed

        await_workers(self.client)
        token = uuid.uuid4().hex
        everywhere = self.client.scatter(work, broadcast=True, hash=False)
        parts = bundles(numbers, self.count)
        futures = {
            self.client.submit(do_bundle, everywhere, token, part, versions(), pure=False): part
            for part in parts
        }
        try:
            for future in as_completed(list(futures), loop=self.client.loop):
                try:
                    results = future.result()
                except Exception as error:
                    if not is_loss(error):
                        raise
                else:
                    yield from zip(futures[future], results, strict=True)
        finally:
            if is_there(self.client):
                self.client.cancel([future for future in futures if not future.done()])
