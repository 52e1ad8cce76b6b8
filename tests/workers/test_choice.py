"""How many workers and threads a command takes when nobody says."""

import os

import pytest

from pacbound.workers.choice import available_cores, threads_each


def test_the_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert available_cores() == 1


@pytest.mark.parametrize(
    ("cores", "workers", "wish", "threads"),
    [
        (8, 2, "", 4),
        (8, 3, "", 2),
        (2, 8, "", 1),
        (8, 2, "1", 1),
        (8, 2, "16", 4),
        (8, 2, "0", 4),
        (8, 2, "many", 4),
    ],
)
def test_omp_num_threads_limits_the_threads_of_a_worker(
    monkeypatch: pytest.MonkeyPatch, cores: int, workers: int, wish: str, threads: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", wish)
    assert threads_each(workers) == threads
