"""The betting process: a supermartingale by enumeration, alarms by an exact recursion, limits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pacbound.monitoring import process
from pacbound.monitoring.process import Path
from pacbound.monitoring.sequential import (
    SCALE,
    Counts,
    fractions,
    increments,
    log_evidence,
    log_needed,
    lower_limit,
)

BOUNDS = (0.0003, 0.014, 0.05, 0.12, 0.5, 0.9)


def exact_log_evidence(counts: Counts, bound: float) -> mpmath.mpf:
    """ln of 0.8 of the mean wealth, and of what is kept for later starts."""
    with mpmath.workdps(40):
        kept = mpmath.mpf("0.2") * 6 / mpmath.pi**2 * mpmath.mpf("1.5")
        return mpmath.log(
            mpmath.mpf("0.8") * mpmath.exp(exact_log_mean(counts, bound, bound)) + kept
        )


def exact_log_mean(counts: Counts, p: float, bound: float) -> mpmath.mpf:
    """ln of the mean over fractions of Π(1 − r + r·X/p), with 40 digits."""
    with mpmath.workdps(40):
        stakes = [mpmath.mpf(float(r)) for r in fractions(bound)]
        terms = [
            mpmath.fprod(
                (1 - r + r * mpmath.mpf(loss) / SCALE / mpmath.mpf(p)) ** times
                for loss, times in counts.items()
            )
            for r in stakes
        ]
        return mpmath.log(mpmath.fsum(terms) / len(stakes))


@pytest.mark.parametrize("bound", BOUNDS)
def test_fractions_are_fixed_by_the_bound_and_leave_some_wealth(bound: float) -> None:
    stakes = fractions(bound)
    assert 5 <= len(stakes) <= 19
    assert (stakes > 0).all() and (stakes <= 0.5).all()


@pytest.mark.parametrize(
    ("bound", "outcomes"),
    [
        (0.05, {1.0: 0.05, 0.0: 0.95}),
        (0.5, {1.0: 0.5, 0.0: 0.5}),
        (0.12, {1.0: 0.06, 0.5: 0.12, 0.0: 0.82}),
        (0.3, {0.9: 0.2, 0.2: 0.6, 0.0: 0.2}),
        (0.014, {1.0: 0.013, 0.1: 0.01, 0.0: 0.977}),
    ],
)
def test_the_expected_wealth_is_at_most_one_by_enumeration(
    bound: float, outcomes: dict[float, float]
) -> None:
    """All sequences of up to 6 outcomes whose mean is the bound, weighted by their probability."""
    assert sum(x * p for x, p in outcomes.items()) == pytest.approx(bound)
    for n in range(7):
        mean = 0.0
        for sequence in itertools.product(outcomes, repeat=n):
            counts: Counts = {}
            for x in sequence:
                counts[round(x * SCALE)] = counts.get(round(x * SCALE), 0) + 1
            probability = math.prod(outcomes[x] for x in sequence)
            mean += probability * math.exp(log_evidence(counts, bound))
        assert 0.98 < mean <= 1


def test_members_alone_are_bets_and_the_wealth_stays_a_supermartingale() -> None:
    """Rows are members with probability 0.3, and members err with probability 0.2 = b."""
    rows = {"member, wrong": 0.06, "member, right": 0.24, "other, wrong": 0.5, "other, right": 0.2}
    mean = 0.0
    for sequence in itertools.product(rows, repeat=5):
        wrong, right = sequence.count("member, wrong"), sequence.count("member, right")
        counts = {loss: n for loss, n in ((SCALE, wrong), (0, right)) if n}
        mean += math.prod(rows[x] for x in sequence) * math.exp(log_evidence(counts, 0.2))
    assert 0.98 < mean <= 1


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(
    "counts",
    [{0: 7}, {SCALE: 3}, {0: 950, SCALE: 50}, {0: 10**6, SCALE: 14_000}, {0: 5, 1234: 900}],
)
def test_evidence_is_the_formula_rounded_down(bound: float, counts: Counts) -> None:
    exact = exact_log_evidence(counts, bound)
    found = log_evidence(counts, bound)
    assert found <= exact
    assert exact - found < 1e-8 + 2e-9 * sum(counts.values()) + 1e-11 * abs(exact)


@pytest.mark.parametrize("bound", BOUNDS)
def test_increments_are_rounded_down(bound: float) -> None:
    losses = np.array([0, 1, 77, 5000, SCALE])
    for row, loss in zip(increments(losses, bound), losses.tolist(), strict=True):
        for unit, r in zip(row.tolist(), fractions(bound).tolist(), strict=True):
            with mpmath.workdps(30):
                exact = mpmath.log(1 - mpmath.mpf(r) + mpmath.mpf(r) * loss / SCALE / bound)
                assert mpmath.mpf(unit) / 2**30 <= exact < mpmath.mpf(unit + 1.01) / 2**30


def alarm_probability(bound: float, risk: float, share: float, n: int) -> float:
    """The exact probability of an alarm within n Bernoulli outcomes, by recursion over counts.

    Without later starts the wealth is a function of the counts.
    """
    alive = np.zeros(n + 2)
    alive[0], alarmed = 1.0, 0.0
    least = 0  # errors that ring the alarm grow with time
    for t in range(1, n + 1):
        alive[1 : t + 1] = alive[1 : t + 1] * (1 - risk) + alive[:t] * risk
        alive[0] *= 1 - risk
        while least <= t and log_evidence(
            {SCALE: least, 0: t - least} if least else {0: t}, bound
        ) < log_needed(share):
            least += 1
        alarmed += alive[least : t + 1].sum()
        alive[least : t + 1] = 0.0
    return alarmed


@pytest.mark.parametrize("bound", [0.05, 0.12, 0.5])
def test_false_alarms_are_rarer_than_alpha_exactly(bound: float) -> None:
    at_bound = alarm_probability(bound, bound, 0.05, 1500)
    below = alarm_probability(bound, 0.8 * bound, 0.05, 1500)
    above = alarm_probability(bound, 1.5 * bound, 0.05, 1500)
    assert below < at_bound <= 0.05
    assert at_bound > 0.005, "far fewer alarms than allowed: the bets are poor"
    assert above > 0.8


def test_the_recursion_agrees_with_simulated_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "period", lambda bound: 10**6)
    generator = np.random.default_rng(3)
    streams = (generator.random((1500, 400)) < 0.12).astype(np.int64) * SCALE
    alarms = sum(Path(stream, 0.12).first_crossing(0.2) is not None for stream in streams)
    expected = alarm_probability(0.12, 0.12, 0.2, 400)
    assert stats.binomtest(alarms, 1500, expected).pvalue > 1e-4


@pytest.mark.parametrize(
    ("counts", "bound"),
    [
        ({0: 950, SCALE: 50}, 0.014),
        ({0: 95_000, SCALE: 5_000}, 0.12),
        ({SCALE: 40}, 0.05),
        ({0: 300, 2500: 500, 9999: 40}, 0.05),
        ({0: 98_000, SCALE: 2_000}, 0.3),
    ],
)
@pytest.mark.parametrize("share", [0.05, 0.0001])
def test_the_lower_limit_is_where_the_wealth_is_one_over_alpha(
    counts: Counts, bound: float, share: float
) -> None:
    limit = float(lower_limit(counts, bound, share))
    needed = math.log(1 / share)
    assert 0 < limit < 1
    assert exact_log_mean(counts, limit, bound) >= needed
    assert exact_log_mean(counts, limit * (1 + 1e-6) + 1e-9, bound) < needed


@given(
    st.integers(1, 3000),
    st.floats(0.001, 0.9),
    st.sampled_from([0.2, 0.01]),
    st.floats(0, 1),
)
def test_limits_hold_and_agree_with_evidence(
    n: int, bound: float, share: float, part: float
) -> None:
    errors = round(part * n)
    counts = {loss: times for loss, times in ((0, n - errors), (SCALE, errors)) if times}
    limit = float(lower_limit(counts, bound, share))
    # Clopper and Pearson's limit is for one look: no valid limit for all times exceeds it.
    once = stats.beta.ppf(share, errors, n - errors + 1) if errors else 0.0
    assert limit <= once + 1e-9
    evidence = log_evidence(counts, bound)
    if limit >= bound * (1 + 1e-6):
        assert evidence > log_needed(share) + math.log(0.8) - 1e-5 * n
    if evidence >= log_needed(share):
        assert limit >= bound * (1 - 1e-6) - 1e-9


def test_no_outcomes_and_no_errors_say_nothing() -> None:
    assert log_evidence({}, 0.1) == 0
    assert lower_limit({}, 0.1, 0.01) == 0
    assert lower_limit({0: 1000}, 0.1, 0.01) == 0
    assert log_evidence({0: 1000}, 0.1) < -1


@pytest.mark.parametrize("bound", [0.0, 1.0, -0.1, math.nan])
def test_a_bound_that_says_nothing_is_refused(bound: float) -> None:
    with pytest.raises(ValueError, match="cannot be bet against"):
        fractions(bound)


def exact_wealth(losses: list[int], bound: Fraction, every: int, number: int) -> Fraction:
    """The definition, outcome by outcome and start by start, with what is kept for the rest."""
    stakes = [Fraction(float(r)) for r in fractions(float(bound))]
    total, weights = Fraction(0), Fraction(0)
    for start in range(number // every + 1):
        square = Fraction(6 / math.pi**2)
        weight = Fraction("0.2") * square / start**2 if start else Fraction("0.8")
        weights += weight
        products = [
            math.prod(
                (
                    1 - r + r * Fraction(loss, SCALE) / bound
                    for loss in losses[start * every : number]
                ),
                start=Fraction(1),
            )
            for r in stakes
        ]
        total += weight * sum(products) / len(products)
    return total + (1 - weights)


def test_the_evidence_is_that_of_exact_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """In fractions, costs and errors mixed, with a start every 7 outcomes."""
    monkeypatch.setattr(process, "period", lambda bound: 7)
    generator = np.random.default_rng(5)
    losses = generator.choice([0, 3000, SCALE], 60, p=[0.6, 0.2, 0.2])
    exact = [exact_wealth(losses.tolist(), Fraction("0.1"), 7, n) for n in range(61)]
    path = Path(losses, 0.1)
    found = [x for _, logs in path.log_evidence(np.arange(61)) for x in logs.tolist()]
    for value, wealth in zip(found, exact, strict=True):
        below = math.log(wealth) - value
        assert 0 < below < 0.02  # the sum of what is kept is bounded from below
    crossing = next(n for n, wealth in enumerate(exact) if wealth >= 100)
    assert path.first_crossing(0.01) == crossing


def test_false_alarms_with_starts_are_rarer_than_alpha_by_enumeration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All 2^13 sequences of fair coins, with a start every 3 outcomes; the mean wealth too."""
    monkeypatch.setattr(process, "period", lambda bound: 3)
    alarms, mean = 0, 0.0
    for bits in itertools.product((0, SCALE), repeat=13):
        path = Path(np.array(bits), 0.5)
        alarms += path.first_crossing(0.25) is not None
        (_, logs), *_ = path.log_evidence(np.array([13]))
        mean += math.exp(logs[0])
    assert 0.01 < alarms / 2**13 <= 0.25
    assert 0.98 < mean / 2**13 <= 1


def test_a_change_after_years_is_found_soon() -> None:
    """Half a million good outcomes do not use up what later bets are made with."""
    generator = np.random.default_rng(2)
    good = (generator.random(500_000) < 0.7 * 0.05).astype(np.int64) * SCALE
    bad = (generator.random(20_000) < 1.5 * 0.05).astype(np.int64) * SCALE
    found = Path(np.concatenate([good, bad]), 0.05).first_crossing(0.01)
    assert found is not None and 500_000 < found < 506_000
