"""Chunks in local processes: in any order, through deaths, with the results of one process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from counting_work import Squares

from pacbound.errors import PacboundError
from pacbound.workers.engine import Engine, Here, bundles
from pacbound.workers.local import LocalProcesses


def squares(engine: Engine, work: Squares) -> dict[int, int]:
    results: dict[int, int] = {}
    for number, (square, _) in engine.results(work, range(work.chunks)):
        assert number not in results
        results[number] = square
    return results


EXPECTED = {number: number**2 for number in range(50)}


@pytest.fixture(scope="module")
def two() -> Iterator[LocalProcesses]:
    """Kept for the tests that end none of them: each needs seconds to import torch."""
    with LocalProcesses(2, here=0.0) as engine:
        yield engine


def test_the_results_are_those_of_one_process(two: LocalProcesses) -> None:
    work = Squares(50)
    assert squares(Here(), work) == EXPECTED
    assert squares(two, work) == EXPECTED
    assert squares(two, Squares(7, plus=1)) == {k: k**2 + 1 for k in range(7)}


def test_work_that_was_given_up_leaves_nothing(warm_workers: None) -> None:
    with LocalProcesses(2, here=0.0) as engine:
        results = engine.results(Squares(50, plus=1000, seconds=0.02), range(50))
        next(results)
        results.close()
        assert squares(engine, Squares(50)) == EXPECTED


def test_all_workers_work(two: LocalProcesses) -> None:
    work = Squares(60, seconds=0.05)
    processes = {process for _, (_, process) in two.results(work, range(60))}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_what_is_done_in_a_moment_starts_no_process() -> None:
    with LocalProcesses(2) as engine:
        done = list(engine.results(Squares(50), range(50)))
    assert {process for _, (_, process) in done} == {os.getpid()}


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    work = Squares(50, fault="die once", mark=tmp_path / "died")
    with LocalProcesses(2, here=0.0) as engine:
        assert squares(engine, work) == EXPECTED
    assert (tmp_path / "died").exists()


def test_workers_that_always_die_are_given_up(warm_workers: None) -> None:
    with (
        LocalProcesses(1, here=0.0) as engine,
        pytest.raises(PacboundError, match="killed by signal 9"),
    ):
        squares(engine, Squares(50, fault="die"))


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [("refuse", PacboundError, "^three is too many$"), ("break", RuntimeError, "a fault")],
)
def test_an_error_in_the_work_is_told(
    fault: str, error: type[Exception], words: str, warm_workers: None
) -> None:
    for engine in (LocalProcesses(2, here=0.0), LocalProcesses(2)):
        expected: Any = error if not engine.here or fault == "refuse" else ZeroDivisionError
        with engine, pytest.raises(expected, match=words):
            squares(engine, Squares(50, fault=fault))


def test_no_worker_outlives_its_engine() -> None:
    with LocalProcesses(2, here=0.0) as engine:
        results = engine.results(Squares(60, seconds=0.05), range(60))
        processes = {next(results)[1][1] for _ in range(5)}
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.parametrize("count", [0, 1, 39, 40, 41, 1000, 100_000])
@pytest.mark.parametrize("workers", [1, 2, 64])
def test_bundles_are_all_the_numbers_in_order(count: int, workers: int) -> None:
    parts = bundles(range(count), workers)
    assert [number for part in parts for number in part] == list(range(count))
    assert all(parts)


def test_what_cannot_be_sent_is_done_here(two: LocalProcesses) -> None:
    class Inside(Squares):
        """Of a function: no other process can find it."""

    assert squares(two, Inside(50)) == EXPECTED
    assert squares(two, Squares(50)) == EXPECTED
