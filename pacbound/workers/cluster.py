"""Chunks on a Dask cluster that is there already."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

from pacbound.errors import BadInput
from pacbound.workers.engine import Chunk, Work, bundles, single_threaded

__all__ = ["DaskCluster", "connect"]

PATIENCE = 10.0  # seconds to reach a scheduler
MOST_ATTEMPTS = 5  # at the same chunks, without a result in between
_begun = threading.local()  # on a worker: the work that the thread has begun


def connect(address: str) -> Any:
    """A client of the scheduler there; BadInput where there is none."""
    try:
        from distributed import Client
    except ImportError as error:
        raise BadInput("--scheduler needs Dask: pip install 'pacbound[dask]'") from error
    try:
        return Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BadInput(f"no Dask scheduler answers at {address}: {error}") from error


def do_bundle(work: Work, token: str, numbers: Sequence[int]) -> list[Any]:
    """The results of some chunks, on a worker."""
    if getattr(_begun, "token", None) != token:
        _begun.token, _begun.chunk = token, single_threaded(work.begin())
    chunk: Chunk = _begun.chunk
    return [chunk(number) for number in numbers]


class DaskCluster:
    """The workers of a Dask scheduler, each of which needs the same version of pacbound.

    The work is sent to all workers once. What a worker had not finished when it died is done by
    others; where all that had the work are gone, it is sent again.

    Arguments:
        address: Of the scheduler, such as tcp://host:8786.
    """

    def __init__(self, address: str) -> None:
        self.client = connect(address)

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.close()

    def results(self, work: Work, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        left = dict.fromkeys(numbers)
        attempts = 0
        while left:
            attempts += 1
            for number, result in self._attempt(work, list(left)):
                attempts = 0
                del left[number]
                yield number, result
            if left and attempts == MOST_ATTEMPTS:
                raise BadInput(
                    f"the cluster lost the same work {attempts} times; are its workers killed for "
                    "want of memory?"
                )

    def _attempt(self, work: Work, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """What can be done before too many workers are lost."""
        from distributed import as_completed

        self._await_workers()
        threads = sum(self.client.nthreads().values())
        token = uuid.uuid4().hex
        everywhere = self.client.scatter(work, broadcast=True, hash=False)
        parts = bundles(numbers, max(1, threads))
        futures = {
            self.client.submit(do_bundle, everywhere, token, part, pure=False): part
            for part in parts
        }
        try:
            for future in as_completed(list(futures), loop=self.client.loop):
                if future.status == "finished":
                    yield from zip(futures[future], future.result(), strict=True)
                elif future.status == "error" and not _lost(future.exception()):
                    raise future.exception()
        finally:
            self.client.cancel([future for future in futures if not future.done()])

    def _await_workers(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise BadInput(
                f"the scheduler at {self.client.scheduler.address} has no workers"
            ) from error


def _lost(error: BaseException) -> bool:
    """Whether it is the workers that failed, not the work."""
    from distributed import KilledWorker

    return isinstance(error, KilledWorker)
