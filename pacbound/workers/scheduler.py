"""The connection to the scheduler of a Dask cluster, and the meaning of its failures."""

from __future__ import annotations

import warnings
from typing import Any

from pacbound import __version__
from pacbound.errors import MissingDependency, PacboundError, WorkerError

__all__ = ["MOST_ATTEMPTS", "await_workers", "connect", "is_loss", "is_there", "lost", "versions"]

PATIENCE = 10.0  # seconds to reach a scheduler
MOST_ATTEMPTS = 5  # for the same work, without a result in between


def connect(address: str) -> Any:
    """A client of the scheduler at an address; WorkerError if none answers."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependency("a scheduler needs Dask: pip install 'pacbound[dask]'") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions: those that matter are compared below
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
    """Wait briefly for the first worker; PacboundError if none comes."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except OSError as error:
        if not is_there(client):
            raise lost(client) from error
        raise WorkerError(f"the scheduler at {client.scheduler.address} has no workers") from error


def is_there(client: Any) -> bool:
    """Whether the scheduler answers."""
    return bool(client.status == "running")


def lost(client: Any) -> PacboundError:
    """The message for a scheduler that no longer answers."""
    scheduler = client.scheduler  # None in a client that has given up and closed itself
    where = f" at {scheduler.address}" if scheduler else ""
    return WorkerError(f"lost the Dask scheduler{where}; the same command continues")


def _compare_versions(client: Any) -> None:
    """Refuse other versions: their results may differ in the last digit or in meaning."""
    try:
        # Neither call waits for the work in progress.
        found = {*client.run(versions).values(), client.run_on_scheduler(versions)}
    except OSError as error:
        raise lost(client) from error
    except Exception as error:  # from a scheduler or worker that cannot even import it
        raise WorkerError(
            f"the Dask cluster cannot import pacbound: its scheduler and workers need {versions()}"
        ) from error
    for other in sorted(found - {versions()}):
        raise WorkerError(f"a worker of the Dask cluster has {other}; needed: {versions()}")


def versions() -> str:
    """The versions of everything that results depend on."""
    import numpy as np
    import torch

    return f"pacbound {__version__}, torch {torch.__version__} and numpy {np.__version__}"


def is_loss(error: Exception) -> bool:
    """Whether the workers or the scheduler failed, and not the work."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    return isinstance(error, KilledWorker | CancelledError)
