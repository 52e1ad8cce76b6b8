"""Sums on their safe side: the exact sum is enclosed, by fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacbound.predictors.outward import rounding, sum_above, sum_below

U = Fraction(1, 2**53)


@given(
    total=st.floats(0, 1e300),
    terms=st.integers(1, 2**40),
)
def test_every_exact_sum_of_the_stated_error_is_enclosed(total: float, terms: int) -> None:
    """The farthest exact sums whose computed one is `total`; total · (1 + r) is below the first."""
    r = Fraction(rounding(terms))
    assert Fraction(sum_above(total, terms)) >= Fraction(total) / (1 - r)
    assert Fraction(sum_below(total, terms)) <= Fraction(total) / (1 + r)
    assert sum_above(total, terms) <= total * (1 + 2.1 * rounding(terms)) + 1e-290


@pytest.mark.parametrize("terms", [1, 2, 1000, 10**6, 2**50])
def test_the_constant_is_above_that_of_the_theorem(terms: int) -> None:
    k = terms + 999
    assert Fraction(rounding(terms)) >= k * U / (1 - k * U)
    assert Fraction(1 - rounding(terms)) == 1 - Fraction(rounding(terms))
    assert Fraction(1 + rounding(terms)) == 1 + Fraction(rounding(terms))


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_squares_one_after_the_other(seed: int) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 3000))
    values = generator.normal(size=size) * 10.0 ** generator.integers(-165, 100, size)
    total = 0.0
    for value in values.tolist():
        total += value * value
    exact = sum((Fraction(value) ** 2 for value in values.tolist()), Fraction())
    assert Fraction(sum_below(total, size)) <= exact <= Fraction(sum_above(total, size))


def test_terms_that_underflow_are_not_lost() -> None:
    values = [1e-162] * 100
    total = sum(value * value for value in values)
    exact = sum((Fraction(value) ** 2 for value in values), Fraction())
    assert Fraction(sum_below(total, 100)) <= exact <= Fraction(sum_above(total, 100))
