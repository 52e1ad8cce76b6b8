"""The worker back end that a user asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pacbound.workers.engine import Engine, Here
from pacbound.workers.local import LocalProcesses

__all__ = ["engine_for"]


@contextmanager
def engine_for(workers: int, scheduler: str = "") -> Iterator[Engine]:
    """Local processes, or none if one is enough; with a scheduler, the workers of a cluster."""
    if scheduler:
        from pacbound.workers.cluster import DaskCluster

        with DaskCluster(scheduler) as cluster:
            yield cluster
    elif workers > 1:
        with LocalProcesses(workers) as processes:
            yield processes
    else:
        yield Here()
