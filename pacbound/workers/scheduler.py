"""The scheduler of a Dask cluster: how it is reached, and what its failures mean."""

from __future__ import annotations

import warnings
from typing import Any

from pacbound import __version__
from pacbound.errors import MissingDependency, PacboundError, WorkerError

__all__ = ["MOST_ATTEMPTS", "await_workers", "connect", "is_loss", "is_there", "lost", "versions"]

PATIENCE = 10.0  # seconds to reach a scheduler
MOST_ATTEMPTS = 5  # at the same work, without a result in between


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
    import numpy as np
    import torch

    return f"pacbound {__version__}, torch {torch.__version__} and numpy {np.__version__}"


def is_loss(error: Exception) -> bool:
    """Whether it is the workers or the scheduler that failed, not the work."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    return isinstance(error, KilledWorker | CancelledError)
