"""Limits of a mean from error rates of batches: the betting limit and Chernoff's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pacbound.bounds import betting, chernoff
from pacbound.bounds.histogram import Counts, draws_and_mean
from pacbound.bounds.rounding import exact, precise

LIMITS: dict[str, Callable[[Counts, int, float], float]] = {
    "betting": betting.risk_limit,
    "chernoff": chernoff.mean_limit,
}


@st.composite
def histograms(draw: st.DrawFn) -> tuple[Counts, int]:
    batch = draw(st.integers(1, 2000))
    errors = draw(st.sets(st.integers(0, batch), min_size=1, max_size=20))
    return [(e, draw(st.integers(1, 10**5))) for e in sorted(errors)], batch


deltas = st.floats(1e-9, 0.9)


def histogram(errors: np.ndarray) -> Counts:
    return sorted(Counter(errors.tolist()).items())


@given(histograms(), deltas)
def test_the_betting_limit_is_the_smallest_in_fifty_digits(
    case: tuple[Counts, int], delta: float
) -> None:
    counts, batch = case
    limit = betting.risk_limit(counts, batch, delta)
    with mpmath.workdps(60):

        def wealth(p: mpmath.mpf) -> mpmath.mpf:
            return mpmath.fsum(
                times * mpmath.log(1 + p - mpmath.mpf(errors) / batch) for errors, times in counts
            )

        needed = mpmath.log(1 / mpmath.mpf(delta))
        assert wealth(mpmath.mpf(limit) * (1 - mpmath.mpf(10) ** -12)) < needed
        if limit < 1:
            assert wealth(mpmath.mpf(limit)) >= needed
            assert wealth(mpmath.mpf(repr(limit))) >= needed


@given(histograms(), deltas)
def test_the_wealth_of_floats_and_intervals_agrees(case: tuple[Counts, int], p: float) -> None:
    counts, batch = case
    with precise():
        interval = betting.log_wealth(counts, batch, exact(p))
        assert interval.rad() < 1e-60
    size = sum(times for _, times in counts)
    assert betting.log_wealth(counts, batch, p) == pytest.approx(
        float(interval), rel=1e-9, abs=1e-14 * size
    )


@pytest.mark.parametrize("name", LIMITS)
@given(case=histograms(), delta=deltas)
def test_a_limit_is_above_the_mean_and_monotone(
    name: str, case: tuple[Counts, int], delta: float
) -> None:
    counts, batch = case
    limit = LIMITS[name](counts, batch, delta)
    draws, mean = draws_and_mean(counts, batch)
    assert mean <= limit <= 1
    assert draws == sum(times for _, times in counts)
    assert LIMITS[name](counts, batch, delta / 2) >= limit
    if limit < 1:
        assert LIMITS[name]([*counts, (batch, 1)], batch, delta) >= limit
        assert LIMITS[name]([(e, 2 * times) for e, times in counts], batch, delta) <= limit


def test_the_betting_limit_in_closed_form_and_at_the_ends() -> None:
    for n in (8, 100, 10_000):
        expected = 0.01 ** (-1 / n) - 1  # (1 + p)ⁿ = 1/δ
        assert betting.risk_limit([(0, n)], 100, 0.01) == pytest.approx(expected, rel=1e-12)
    assert betting.risk_limit([(0, 6)], 100, 0.01) == 1.0  # 2⁶ < 100
    assert betting.risk_limit([(100, 10)], 100, 0.01) == 1.0
    assert betting.risk_limit([(0, 10**20), (1, 1)], 1, 0.01) < 1e-18  # 1 + p is 1 in floats
    assert betting.risk_limit([(0, 10**15)], 100, 0.01) == pytest.approx(4.605e-15, rel=1e-3)


def test_chernoff_counts_the_draws_and_not_their_examples() -> None:
    counts = [(3, 40), (4, 50), (9, 10)]
    assert chernoff.mean_limit(counts, 100, 0.01) > chernoff.risk_limit(410, 10_000, 0.01)
    assert chernoff.mean_limit([(0, 93), (1, 7)], 1, 0.01) == chernoff.risk_limit(7, 100, 0.01)


def test_betting_is_far_tighter_for_batch_means() -> None:
    """10 000 weight samples at an error rate of 5 %, each on its own 1000 examples, δ = 0.005.

    The spread of a batch's error rate is 0.7 points, so betting pays little above ln(1/δ)/n;
    Chernoff allows for draws that are 0 or 1 and pays thirteen times as much.
    """
    counts = histogram(np.random.default_rng(0).binomial(1000, 0.05, 10_000))
    mean = float(draws_and_mean(counts, 1000)[1])
    excess = {name: limit(counts, 1000, 0.005) - mean for name, limit in LIMITS.items()}
    assert excess["betting"] == pytest.approx(math.log(200) / 10_000, rel=0.1)
    assert excess["chernoff"] > 12 * excess["betting"]


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("p", [0.02, 0.1, 0.5, 0.9])
def test_limits_of_single_examples_cover_exactly(name: str, p: float) -> None:
    n, delta = 40, 0.1
    missed = sum(
        stats.binom.pmf(k, n, p)
        for k in range(n + 1)
        if LIMITS[name]([pair for pair in ((0, n - k), (1, k)) if pair[1]], 1, delta) < p
    )
    assert missed <= delta


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(
    "means", [[0.05], [0.0, 0.1], [0.02, 0.6], [0.0, 0.0, 0.0, 1.0], [0.9, 1.0]], ids=str
)
@pytest.mark.parametrize("batch", [1, 20])
def test_limits_cover_draws_of_different_means(name: str, means: list[float], batch: int) -> None:
    """2000 repetitions of 60 draws whose means and variances differ."""
    delta, n = 0.1, 60
    each = np.resize(means, n)
    draws = np.random.default_rng(0).binomial(batch, each, (2000, n))
    seen: dict[tuple[tuple[int, int], ...], bool] = {}
    held = 0
    for row in draws:
        counts = tuple(histogram(row))
        if counts not in seen:
            seen[counts] = LIMITS[name](counts, batch, delta) >= each.mean()
        held += seen[counts]
    assert held >= 2000 * (1 - delta)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(
    ("counts", "batch", "delta"),
    [
        ([], 10, 0.1),
        ([(0, 0)], 10, 0.1),
        ([(-1, 1)], 10, 0.1),
        ([(11, 1)], 10, 0.1),
        ([(1, -1), (2, 3)], 10, 0.1),
        ([(0, 1)], 0, 0.1),
        ([(1, 1)], 10, 0.0),
        ([(1, 1)], 10, 1.0),
        ([(1, 1)], 10, math.nan),
    ],
)
def test_impossible_counts_are_refused(name: str, counts: Counts, batch: int, delta: float) -> None:
    with pytest.raises(ValueError, match="need"):
        LIMITS[name](counts, batch, delta)
