"""Means, standard errors and winners, against NumPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pacbound.experiments.bandit.comparison import Average, Winners, winners
from pacbound.experiments.bandit.paper import BANDIT_REGRETS


@pytest.mark.parametrize("count", [2, 3, 10])
def test_averages_are_numpys(count: int) -> None:
    values = np.random.default_rng(count).random(count)
    found = Average.of(values)
    assert found is not None
    assert found.count == count
    assert found.mean == pytest.approx(np.mean(values))
    deviation = np.sqrt(np.sum((values - np.mean(values)) ** 2) / (count - 1))
    assert found.standard_error == pytest.approx(deviation / np.sqrt(count))


def test_of_one_and_of_none() -> None:
    assert Average.of([2.5]) == Average(2.5, None, 1)
    assert Average.of([]) is None


def test_a_hard_stream_counts_for_nobody() -> None:
    regrets = {
        "a": {0: 10.0, 1: 50.0, 2: 90.0},
        "b": {0: 10.2, 1: 49.9, 2: 90.1},  # better on one seed
        "c": {0: 11.0, 1: 51.1, 2: 91.0},  # worse on every seed, by much the same
    }
    assert winners(regrets) == Winners("a", frozenset({"b"}))


def test_only_agents_with_the_most_runs_win() -> None:
    assert winners({"a": {0: 1.0}, "b": {0: 2.0, 1: 3.0}}) == Winners("b")
    assert winners({"a": {0: 1.0}, "b": {0: 1.0}}) == Winners("a")
    assert winners({"a": {0: 1.0}, "b": {}}) == Winners()
    assert winners({"a": {}}) == winners({}) == Winners()


def test_the_papers_figures() -> None:
    """The figures that it prints in bold, and a few others."""
    best = {
        protocol: [min(one.mean for one in agents.values()) for agents in problems.values()]
        for protocol, problems in BANDIT_REGRETS.items()
    }
    assert best["tuned"] == [1.85, 0.73, 28.06, 5.78, 56.24, 75.94]
    assert best["untuned"] == [1.82, 1.23, 29.24, 11.83, 56.88, 76.98]
    assert BANDIT_REGRETS["tuned"]["mushroom"]["k-linear"].standard_error == 0.15
    assert BANDIT_REGRETS["untuned"]["adult"]["k-nonlinear"].mean == 77.83
