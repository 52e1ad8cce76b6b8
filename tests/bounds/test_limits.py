"""Confidence limits of counts: Chernoff's for draws, Clopper–Pearson's for a held-out set."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pacbound.bounds import binomial
from pacbound.bounds.binomial import distribution, upper_limit
from pacbound.bounds.chernoff import risk_limit
from pacbound.bounds.rounding import exact, precise


@st.composite
def counts(draw: st.DrawFn, largest: int) -> tuple[int, int]:
    n = draw(st.integers(1, largest))
    return draw(st.integers(0, n)), n


@given(counts(10**7), st.floats(1e-9, 0.9))
def test_chernoff_limit_is_above_the_exact_rational_inverse(
    count: tuple[int, int], delta: float
) -> None:
    errors, draws = count
    limit = risk_limit(errors, draws, delta)
    assert limit >= errors / draws
    if limit == 1:
        return
    with mpmath.workdps(50):
        q, allowance = mpmath.mpf(errors) / draws, mpmath.log(1 / mpmath.mpf(delta)) / draws

        def kl(p: mpmath.mpf) -> mpmath.mpf:
            heads = q * mpmath.log(q / p) if errors else 0
            return heads + (1 - q) * mpmath.log((1 - q) / (1 - p))

        assert kl(mpmath.mpf(limit)) >= allowance
        assert kl(mpmath.mpf(repr(limit))) >= allowance
        assert kl(max(q, mpmath.mpf(limit) * (1 - mpmath.mpf(10) ** -12))) < allowance


def test_chernoff_limit_in_closed_form_and_at_the_ends() -> None:
    assert risk_limit(0, 1000, 0.01) == pytest.approx(1 - 0.01 ** (1 / 1000), rel=1e-13)
    assert risk_limit(1000, 1000, 0.01) == 1.0


@given(counts(3000), st.floats(1e-6, 0.9))
@settings(max_examples=60)
def test_binomial_limit_against_the_beta_distribution(count: tuple[int, int], delta: float) -> None:
    errors, n = count
    limit = upper_limit(errors, n, delta)
    if errors == n:
        assert limit == 1
    else:
        assert limit == pytest.approx(stats.beta.isf(delta, errors + 1, n - errors), rel=1e-7)


@pytest.mark.parametrize(("errors", "n"), [(0, 1), (0, 30), (3, 30), (29, 30), (40, 50)])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_binomial_limit_by_exact_rationals(errors: int, n: int, delta: float) -> None:
    def tail(p: Fraction) -> Fraction:
        return sum(
            (math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(errors + 1)), Fraction(0)
        )

    limit = upper_limit(errors, n, delta)
    assert tail(Fraction(limit)) <= Fraction(delta)
    assert tail(Fraction(limit * (1 - 1e-12))) > Fraction(delta)
    with precise():
        enclosed = distribution(errors, n, exact(limit))
        share = tail(Fraction(limit))
        assert enclosed.overlaps(exact(share))


def test_binomial_limit_uses_the_distribution_and_not_the_mass() -> None:
    errors, n, delta = 61, 10_000, 0.05
    limit = upper_limit(errors, n, delta)
    assert limit == pytest.approx(0.007544, abs=1e-6)
    assert stats.binom.cdf(errors, n, limit) == pytest.approx(delta, rel=1e-6)
    assert stats.binom.pmf(errors, n, limit) < delta / 2  # the mass alone would stop far too soon


@pytest.mark.parametrize("limit", [upper_limit, risk_limit])
@pytest.mark.parametrize("p", [0.02, 0.1, 0.5])
def test_limits_cover_exactly(limit: object, p: float) -> None:
    n, delta = 40, 0.1
    missed = sum(
        stats.binom.pmf(errors, n, p)
        for errors in range(n + 1)
        if limit(errors, n, delta) < p  # type: ignore[operator]
    )
    assert missed <= delta


@pytest.mark.parametrize("limit", [upper_limit, risk_limit])
@pytest.mark.parametrize(
    ("errors", "n", "delta"),
    [(-1, 10, 0.1), (11, 10, 0.1), (0, 0, 0.1), (1, 10, 0.0), (1, 10, 1.0), (1, 10, math.nan)],
)
def test_limits_refuse_impossible_counts(limit: object, errors: int, n: int, delta: float) -> None:
    with pytest.raises(ValueError, match="need 0 ≤ errors"):
        limit(errors, n, delta)  # type: ignore[operator]


@pytest.mark.parametrize("level", ["0.7", "3.4", "40", "700", "800"])
@pytest.mark.parametrize(("errors", "n"), [(0, 1), (0, 50), (7, 50), (49, 50), (300, 60_000)])
def test_a_rate_is_the_smallest_that_is_proved(errors: int, n: int, level: str) -> None:
    """Wherever the search begins: the first guess is scipy's and proves nothing."""
    unit = Fraction(1, 10**10)

    def proved(p: Fraction) -> bool:
        if p >= 1:
            return True
        tail = distribution(errors, n, exact(p)).log()
        return p > Fraction(errors, n) and bool(tail <= -exact(level))

    with precise():
        found = Fraction(binomial.limit(errors, n, exact(level)))
        assert proved(found)
        assert not proved(found - unit)
