"""Chunks on a Dask cluster that is there already."""

from __future__ import annotations

import threading
import uuid
import warnings
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import torch

from pacbound import __version__
from pacbound.errors import MissingDependency, PacboundError, WorkerError
from pacbound.memory import keeping_memory
from pacbound.workers.engine import Chunk, Work, bundles, single_threaded

__all__ = ["DaskCluster", "await_workers", "connect", "is_loss", "is_there", "lost"]

PATIENCE = 10.0  # seconds to reach a scheduler
MOST_ATTEMPTS = 5  # at the same chunks, without a result in between
_begun = threading.local()  # on a worker: the work that the thread has begun


def connect(address: str) -> Any:
    """A client of the scheduler at an address; WorkerError where none answers."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependency("--scheduler needs Dask: pip install 'pacbound[dask]'") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other versions: those that matter are compared
            client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise WorkerError(f"no Dask scheduler answers at {address}: {error}") from error
    try:
        await_workers(client)
        _compare_versions(client)
    except BaseException:
        client.close()
        raise
    return client


def await_workers(client: Any) -> None:
    """Wait a moment for the first; PacboundError if none comes."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except OSError as error:
        if not is_there(client):
            raise lost(client) from error
        raise WorkerError(f"the scheduler at {client.scheduler.address} has no workers") from error


def is_there(client: Any) -> bool:
    """Whether the scheduler can be spoken to."""
    return bool(client.status == "running")


def lost(client: Any) -> PacboundError:
    """What is said when the scheduler does not answer any more."""
    return WorkerError(
        f"lost the Dask scheduler at {client.scheduler.address}; the same command continues"
    )


def _compare_versions(client: Any) -> None:
    """A result of other versions may differ in its last digit, or mean something else."""
    try:
        # Neither waits for what the workers are doing.
        found = {*client.run(versions).values(), client.run_on_scheduler(versions)}
    except OSError as error:
        raise lost(client) from error
    except Exception as error:  # of the scheduler or a worker that cannot even import it
        raise WorkerError(
            f"the Dask cluster cannot import pacbound: its scheduler and workers need {versions()}"
        ) from error
    for other in sorted(found - {versions()}):
        raise WorkerError(f"a worker of the Dask cluster has {other}; here are {versions()}")


def versions() -> str:
    """Of all that results depend on."""
    return f"pacbound {__version__}, torch {torch.__version__} and numpy {np.__version__}"


def do_bundle(work: Work, token: str, numbers: Sequence[int], wanted: str) -> list[Any]:
    """The results of some chunks, on a worker with the wanted versions."""
    if versions() != wanted:  # one that came later
        raise WorkerError(f"a worker of the Dask cluster has {versions()}; here are {wanted}")
    if getattr(_begun, "token", None) != token:
        _begun.token, _begun.chunk = token, single_threaded(work.begin())
    chunk: Chunk = _begun.chunk
    with keeping_memory():
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
            try:
                for number, result in self._attempt(work, list(left)):
                    attempts = 0
                    del left[number]
                    yield number, result
            except OSError as error:
                raise error if is_there(self.client) else lost(self.client) from error
            if left and attempts == MOST_ATTEMPTS:
                raise WorkerError(
                    f"the cluster lost the same work {attempts} times; are its workers killed for "
                    "want of memory?"
                )

    def _attempt(self, work: Work, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """What can be done before too many workers are lost."""
        from distributed import as_completed

        await_workers(self.client)
        threads = sum(self.client.nthreads().values())
        token = uuid.uuid4().hex
        everywhere = self.client.scatter(work, broadcast=True, hash=False)
        parts = bundles(numbers, max(1, threads))
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


def is_loss(error: Exception) -> bool:
    """Whether it is the workers or the scheduler that failed, not the work."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    return isinstance(error, KilledWorker | CancelledError)
