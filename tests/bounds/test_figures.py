"""Figures of certificates against formulas of their own at 50 digits, in mpmath."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from pacbound.bounds import betting, binomial, catoni_fixed, chernoff, draw_tail, pinsker, xi
from pacbound.bounds.bernoulli_kl import kl_inverse_rate
from pacbound.bounds.figures import mean_rate, nats_up, rate_up, smallest_rate
from pacbound.bounds.rounding import exact, precise

UNIT = mpf(10) ** -10


def kl(q: mpf, p: mpf) -> mpf:
    heads = q * mpmath.log(q / p) if q > 0 else mpf(0)
    return heads + (1 - q) * mpmath.log((1 - q) / (1 - p))


def due(rate: Decimal, sound: Callable[[mpf], bool]) -> None:
    """The rate is sound, and two units less would not be."""
    p = mpf(str(rate))
    assert p == 1 or sound(p)
    assert p - 2 * UNIT < 0 or not sound(p - 2 * UNIT)


levels = st.integers(100, 40_000).map(lambda k: Fraction(k, 1000))


@settings(max_examples=40)
@given(st.integers(0, 500), st.integers(1, 500), levels)
def test_binomial_limit(k: int, n: int, level: Fraction) -> None:
    k = min(k, n)
    level += 1
    with precise():
        rate = binomial.limit(k, n, exact(level))
    with mpmath.workdps(50):
        wanted = -mpf(level.numerator) / level.denominator

        def sound(p: mpf) -> bool:
            if k == n or p >= 1:
                return bool(p >= 1)
            if p <= mpf(k) / n:
                return False
            tail = mpmath.betainc(n - k, k + 1, 0, 1 - p, regularized=True)
            return bool(mpmath.log(tail) <= wanted)

        due(rate, sound)


@settings(max_examples=60)
@given(st.integers(0, 1000), levels, st.sampled_from([1, 2, 4]))
def test_inverse_of_the_relative_entropy(q: int, c: Fraction, factor: int) -> None:
    risk, c = Fraction(q, 1000), c / 100
    with precise():
        rate = kl_inverse_rate(risk, exact(c), factor)
    with mpmath.workdps(50):
        at, wanted = mpf(q) / 1000, mpf(c.numerator) / c.denominator

        def sound(p: mpf) -> bool:
            p = p / factor
            return bool(p >= 1) or (bool(p > at) and bool(kl(at, p) >= wanted))

        due(rate, sound)


@pytest.mark.parametrize("c", [0, -3])
def test_a_complexity_of_nothing_leaves_the_risk(c: int) -> None:
    with precise():
        assert kl_inverse_rate(Fraction(1, 3), exact(c)) == Decimal("0.3333333334")


@settings(max_examples=30)
@given(st.dictionaries(st.integers(0, 50), st.integers(1, 400), min_size=1, max_size=8), levels)
def test_limits_of_draws_of_weights(counts: dict[int, int], level: Fraction) -> None:
    histogram = sorted(counts.items())
    n = sum(counts.values())
    mean = Fraction(sum(v * t for v, t in histogram), 50 * n)
    with precise():
        bet = betting.limit(histogram, 50, exact(level))
        chernoffs = chernoff.limit(mean, n, exact(level))
    with mpmath.workdps(50):
        wanted = mpf(level.numerator) / level.denominator

        def wealth(p: mpf) -> bool:
            if p >= 1 or any(v >= (1 + p) * 50 for v, _ in histogram):
                return bool(p >= 1)
            return bool(sum(t * mpmath.log(1 + p - mpf(v) / 50) for v, t in histogram) >= wanted)

        due(bet, wealth)
        at = mpf(mean.numerator) / mean.denominator
        due(chernoffs, lambda p: p >= 1 or (p > at and kl(at, p) >= wanted / n))


@pytest.mark.parametrize(
    ("m", "value"),
    [
        (1, "2.003741645132686899349"),
        (8, "4.245070295050072600504"),
        (285, "21.83112818009965137911"),
        (10**7, "3963.993997297442334767"),
    ],
)
def test_the_constant_of_maurer(m: int, value: str) -> None:
    with precise():
        assert float(xi.constant(exact(m))) == pytest.approx(float(value), rel=1e-15)
    with mpmath.workdps(50):
        if m < 1000:
            total = mpmath.fsum(
                mpmath.binomial(m, k) * mpf(k) ** k * mpf(m - k) ** (m - k) / mpf(m) ** m
                for k in range(m + 1)
            )
            assert total <= mpf(value) * (1 + mpf(10) ** -20)
            assert mpf(value) <= total * (1 + mpf(1) / (400 * m * m)) * (1 + mpf(10) ** -20)


@pytest.mark.parametrize("x", [-50, -1, 0, 1, 2, 10, 3000])
def test_the_level_of_a_draw(x: int) -> None:
    with precise():
        found = draw_tail.nats(exact(x))
    with mpmath.workdps(50):
        ratio = mpmath.exp(x) + mpmath.e
        expected = mpmath.log(ratio * mpmath.log(ratio) ** 2)
        assert abs(mpf(str(float(found))) - expected) < 1e-12 * expected


def test_the_function_of_a_draw_has_integral_one() -> None:
    with mpmath.workdps(30):
        total = mpmath.quad(
            lambda t: mpmath.exp(t - draw_of(t)), [-60, -5, 0, 5, 20, 100, 1000, 10_000, mpmath.inf]
        )
        assert total == pytest.approx(1, abs=1e-3)


def draw_of(t: mpf) -> mpf:
    ratio = mpmath.exp(t) + mpmath.e
    return mpmath.log(ratio) + 2 * mpmath.log(mpmath.log(ratio))


def test_catoni_and_pinsker() -> None:
    with precise():
        m, delta = exact(30_000), exact("0.025")
        trade_off = catoni_fixed.trade_off(exact(90), exact(15_000), m, delta)
        assert float(trade_off) == pytest.approx(0.2710106687030196734952, rel=1e-14)
        value = catoni_fixed.bound(exact("0.006"), exact(2), m, delta, trade_off)
        assert rate_up(value) == Decimal("0.0076415748")
        value = pinsker.bound(exact("0.006"), exact(2), m, delta)
        assert rate_up(value) == Decimal("0.0223290975")
        # Few examples: the square root would lead beyond what a rate can be.
        assert catoni_fixed.trade_off(exact(5), exact(9), exact(2), delta) > 0


@pytest.mark.parametrize("guess", [0.0, 0.2, 0.25, 0.9, 1.0, 5.0])
def test_the_smallest_rate_does_not_depend_on_the_guess(guess: float) -> None:
    assert smallest_rate(lambda p: p >= Fraction(1, 4), guess) == Decimal("0.25")
    assert smallest_rate(lambda p: False, guess) == 1
    assert smallest_rate(lambda p: True, guess) == 0


def test_rounding_is_upward() -> None:
    with precise():
        assert nats_up(exact(-3) / 7) == Decimal("-0.428571")
        assert nats_up(exact(3) / 7) == Decimal("0.428572")
        assert rate_up(exact(3) / 7) == Decimal("0.4285714286")
        assert rate_up(exact(3) / 2) == 1
    assert mean_rate(Fraction(3, 7)) == Decimal("0.4285714286")
    assert mean_rate(Fraction(1, 4)) == Decimal("0.25")
