"""kl and its inverse against 50 digits and more: never below, and tight."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import mpmath
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from pacbound.bounds.bernoulli_kl import (
    bernoulli_kl,
    bernoulli_kl_inverse,
    bernoulli_kl_inverse_derivatives,
)

NEXT_TO_ONE = math.nextafter(1.0, 0.0)
RISKS = [0.0, 5e-324, 1e-300, 1e-17, 1e-5, 0.057, 0.3, 0.5, 0.9, 1 - 1e-9, NEXT_TO_ONE, 1.0]
COMPLEXITIES = [0.0, 5e-324, 1e-300, 1e-40, 1e-16, 1e-6, 0.0712, 1.0, 30.0, 700.0, 1e300]


def kl(q: float, p: float | mpmath.mpf) -> mpmath.mpf:
    """kl(q‖p) by its definition, with enough digits for 1 − 1e-300 to differ from 1."""
    with mpmath.workdps(50 + 700 * (q < 1e-20 or p < 1e-20)):
        q, p = mpmath.mpf(q), mpmath.mpf(p)
        if p >= 1:
            return mpmath.mpf(0) if q == 1 else mpmath.inf
        heads = q * mpmath.log(q / p) if q else 0
        return heads + ((1 - q) * mpmath.log((1 - q) / (1 - p)) if q != 1 else 0)


def assert_proved_and_tight(q: float, c: float) -> None:
    p = bernoulli_kl_inverse(q, c)
    assert q <= p <= 1
    if p < 1:
        # both the float and the decimal that it prints as are on the safe side
        assert c == 0 or kl(q, p) >= c
        assert c == 0 or kl(q, mpmath.mpf(repr(p))) >= c or Fraction(repr(p)) < Fraction(q)
    below = p * (1 - 1e-12)
    if p > 1e-310 and below > q:
        assert kl(q, below) < c or c == math.inf


@pytest.mark.parametrize(("q", "c"), list(itertools.product(RISKS, COMPLEXITIES)))
def test_inverse_is_never_below_and_tight(q: float, c: float) -> None:
    assert_proved_and_tight(q, c)


@given(st.floats(0, 1), st.floats(0, 50))
def test_inverse_is_never_below_and_tight_anywhere(q: float, c: float) -> None:
    assert_proved_and_tight(q, c)


def test_inverse_does_not_stop_on_the_low_side() -> None:
    # A bisection that returns its last midpoint is below the true value half of the time.
    draw = random.Random(0)
    pairs = [(draw.random(), 10 ** draw.uniform(-6, 0)) for _ in range(300)]
    assert all(kl(q, bernoulli_kl_inverse(q, c)) >= c for q, c in pairs)


def test_inverse_at_the_ends() -> None:
    assert bernoulli_kl_inverse(1.0, 0.1) == 1.0
    assert bernoulli_kl_inverse(0.2, math.inf) == 1.0
    assert bernoulli_kl_inverse(0.0, 0.0) == 0.0
    assert bernoulli_kl_inverse(0.0, 1.0) == pytest.approx(1 - math.exp(-1), rel=1e-15)


@pytest.mark.parametrize(
    ("q", "c"), [(math.nan, 0.1), (0.1, math.nan), (-0.1, 0.1), (1.1, 0.1), (0.1, -0.1)]
)
def test_inverse_refuses_what_is_not_a_risk_or_a_complexity(q: float, c: float) -> None:
    with pytest.raises(ValueError, match="inverse of kl"):
        bernoulli_kl_inverse(q, c)


@given(st.floats(0, 1), st.floats(0, 1))
def test_kl_agrees_with_its_definition(q: float, p: float) -> None:
    if q != p and p in (0.0, 1.0):
        assert bernoulli_kl(q, p) == math.inf
    else:
        assert bernoulli_kl(q, p) == pytest.approx(float(kl(q, p)), rel=1e-6, abs=1e-15)


@pytest.mark.parametrize(("q", "p"), [(math.nan, 0.5), (0.5, math.nan), (0.5, 1.5), (-1.0, 0.5)])
def test_kl_of_no_probability_is_refused(q: float, p: float) -> None:
    with pytest.raises(ValueError, match="needs q and p"):
        bernoulli_kl(q, p)


def test_kl_of_a_nan_interval_compares_with_nothing() -> None:
    divergence = bernoulli_kl(arb("nan"), arb(0.5))
    assert not divergence >= 0
    assert not divergence < 1


@pytest.mark.parametrize(("q", "c"), [(0.05, 0.07), (1e-6, 1e-3), (0.4, 1e-5), (0.9, 0.02)])
def test_derivatives_of_the_inverse(q: float, c: float) -> None:
    with mpmath.workdps(50):

        def inverse(q: mpmath.mpf, c: mpmath.mpf) -> mpmath.mpf:
            start = bernoulli_kl_inverse(float(q), float(c))
            return mpmath.findroot(lambda p: kl(q, p) - c, (start, start * 1.0001))

        step = mpmath.mpf(10) ** -15
        dp_dq = (inverse(mpmath.mpf(q) + step, c) - inverse(mpmath.mpf(q) - step, c)) / (2 * step)
        dp_dc = (inverse(q, mpmath.mpf(c) + step) - inverse(q, mpmath.mpf(c) - step)) / (2 * step)
    found = bernoulli_kl_inverse_derivatives(q, bernoulli_kl_inverse(q, c))
    assert found == pytest.approx((float(dp_dq), float(dp_dc)), rel=1e-6)


def test_derivatives_at_the_ends() -> None:
    assert bernoulli_kl_inverse_derivatives(0.3, 1.0) == (0.0, 0.0)
    assert bernoulli_kl_inverse_derivatives(0.3, 0.3) == (1.0, math.inf)
    assert bernoulli_kl_inverse_derivatives(0.0, 0.5) == (math.inf, 0.5)
