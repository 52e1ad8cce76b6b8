"""The worker back end that a user asks for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pacbound.workers.engine import Engine, Here
from pacbound.workers.local import LocalProcesses

__all__ = ["available_cores", "engine_for", "threads_each"]


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


def available_cores() -> int:
    """The cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_each(workers: int) -> int:
    """The threads of each of some local workers: its share of the cores.

    OMP_NUM_THREADS limits it, as in any other program. More threads than free cores wait for each
    other, and training becomes many times slower.
    """
    share = max(1, available_cores() // workers)
    wish = os.environ.get("OMP_NUM_THREADS", "")
    return min(share, int(wish)) if wish.isdecimal() and int(wish) > 0 else share
