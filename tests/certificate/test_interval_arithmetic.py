"""The checker's intervals: every operation encloses what mpmath computes with 100 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import formulas
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf, workdps

from pacbound.certificate import checker as c

fractions = st.fractions(-(10**6), 10**6, max_denominator=10**12) | st.sampled_from(
    [Fraction(0), Fraction(1), Fraction(1, 10**30), 1 + Fraction(1, 10**30), Fraction(10**18)]
)
positive = fractions.map(abs).filter(lambda x: x > 0)
rates = st.fractions(0, 1, max_denominator=10**10)


def exactly(x: Fraction | int) -> mpf:
    return mpf(Fraction(x).numerator) / mpf(Fraction(x).denominator)


def encloses(interval: c.Interval, exact: Callable[[], Any], width: float = 1e-55) -> bool:
    """Whether the interval is narrow; that the value lies inside is asserted."""
    with workdps(110):
        value = exact()
        low, high = mpf(str(interval.lo)), mpf(str(interval.hi))
        dust = (abs(value) + mpf(10) ** -40) * mpf(10) ** -100
        assert low - dust <= value <= high + dust
        return bool(high - low <= width * (abs(value) + 1))


@given(fractions, fractions)
def test_sums_differences_and_products(x: Fraction, y: Fraction) -> None:
    a, b = c.enclose(x), c.enclose(y)
    assert encloses(a + b, lambda: exactly(x + y), 1e-45)
    assert encloses(a - b, lambda: exactly(x - y), 1e-45)
    assert encloses(a * b, lambda: exactly(x * y))
    assert encloses(-a, lambda: exactly(-x))
    assert encloses(x + b, lambda: exactly(x + y), 1e-45)
    assert encloses(x - b, lambda: exactly(x - y), 1e-45)
    assert encloses(x * b, lambda: exactly(x * y))


@given(fractions, fractions)
def test_quotients(x: Fraction, y: Fraction) -> None:
    a, b = c.enclose(x), c.enclose(y)
    if y == 0:
        with pytest.raises(ZeroDivisionError):
            a / b
    else:
        assert encloses(a / b, lambda: exactly(x / y))
        assert encloses(x / b, lambda: exactly(x / y))


@given(fractions, fractions, fractions, fractions, st.fractions(0, 1), st.fractions(0, 1))
def test_operations_on_wide_intervals_contain_every_pair(
    x: Fraction, y: Fraction, u: Fraction, v: Fraction, s: Fraction, t: Fraction
) -> None:
    x, y = min(x, y), max(x, y)
    u, v = min(u, v), max(u, v)
    a = c.Interval(c.enclose(x).lo, c.enclose(y).hi)
    b = c.Interval(c.enclose(u).lo, c.enclose(v).hi)
    p, q = x + s * (y - x), u + t * (v - u)
    encloses(a + b, lambda: exactly(p + q))
    encloses(a - b, lambda: exactly(p - q))
    encloses(a * b, lambda: exactly(p * q))
    encloses(c.smaller(a, b), lambda: exactly(min(p, q)))
    encloses(c.larger(a, b), lambda: exactly(max(p, q)))
    if u > 0 or v < 0:
        encloses(a / b, lambda: exactly(p / q))


@given(positive)
def test_logarithms_roots_and_exponentials(x: Fraction) -> None:
    assert encloses(c.ln(x), lambda: mp.log(exactly(x)))
    assert encloses(c.sqrt(x), lambda: mp.sqrt(exactly(x)))
    small = x / 10**16
    assert encloses(c.exp(-small), lambda: mp.exp(-exactly(small)))
    assert encloses(c.ln(c.enclose(x) * 3), lambda: mp.log(3 * exactly(x)))


@given(st.fractions(0, 2, max_denominator=10**6), st.integers(0, 10**6))
def test_powers(x: Fraction, exponent: int) -> None:
    power = c.product_of_powers([c.enclose(x)], [exponent])
    assert encloses(power, lambda: exactly(x) ** exponent, 1e-50)


@given(
    st.lists(
        st.tuples(st.fractions(Fraction(1, 100), 2), st.integers(1, 10**15)),
        min_size=1,
        max_size=6,
    )
)
def test_products_of_powers(pairs: list[tuple[Fraction, int]]) -> None:
    bases, exponents = zip(*pairs, strict=True)
    found = c.product_of_powers([c.enclose(x) for x in bases], exponents)
    total = lambda: mp.fsum(n * mp.log(exactly(x)) for x, n in pairs)  # noqa: E731
    assert encloses(c.ln(found), total, 1e-35)


def test_pi() -> None:
    assert encloses(c.PI, lambda: +mp.pi)


@given(fractions, fractions)
def test_comparisons_have_their_slack(x: Fraction, y: Fraction) -> None:
    slack = Fraction(1, 10**30)
    assume(abs(x - y - slack) > Fraction(1, 10**40))  # which no enclosure decides
    assert c.at_most(x, y) == (x <= y + slack)
    assert c.at_most(x, x - slack * Fraction(9, 10))
    assert not c.at_most(x, x - slack * Fraction(11, 10))


def test_a_comparison_that_is_not_decided_rejects_with_its_number() -> None:
    wide = c.Interval(Decimal(0), Decimal(1))
    with pytest.raises(c.Rejected) as error, c.check("9.4"):
        c.at_most(wide, Fraction(1, 2))
    assert error.value.number == "9.4"


@given(st.integers(0, 10**7))
def test_factorials(n: int) -> None:
    assert encloses(c.ln_factorial(n), lambda: mp.loggamma(n + 1), 1e-50)


@pytest.mark.parametrize("n", [0, 1, 2, 255, 256, 257, 300])
def test_factorials_where_the_series_begins(n: int) -> None:
    assert encloses(c.ln_factorial(n), lambda: mp.log(math.factorial(n)), 1e-50)


@st.composite
def binomials(draw: st.DrawFn) -> tuple[int, int, Fraction]:
    n = draw(st.integers(1, 3000))
    k = draw(st.integers(0, n - 1))
    places = st.integers(k * 10**10 // n + 1, 10**10 - 1)
    return k, n, Fraction(draw(places), 10**10)


@given(binomials())
def test_binomial_tails(case: tuple[int, int, Fraction]) -> None:
    k, n, p = case
    tail = c.ln_binomial_tail(k, n, p)
    with workdps(60):
        value = formulas.ln_tail(k, n, exactly(p))
        near = mpf(10) ** -50 * (abs(value) + n)
        assert mpf(str(tail.lo)) - near <= value <= mpf(str(tail.hi)) + near
    assert tail.hi - tail.lo < Decimal("1e-35")


@given(rates, rates)
def test_relative_entropy(q: Fraction, p: Fraction) -> None:
    assume(q < p < 1)
    assert encloses(c.relative_entropy(q, p), lambda: formulas.kl(exactly(q), exactly(p)))


@given(rates, st.fractions(0, 3, max_denominator=10**9))
def test_a_rate_is_sound_from_the_inverse_upward(q: Fraction, complexity: Fraction) -> None:
    with workdps(60):
        limit = formulas.kl_inverse(exactly(q), exactly(complexity))
        floor = int(mp.floor(limit * 10**10))

    def sound(units: int) -> bool:
        return c.kl_sound(q, c.enclose(complexity), Fraction(units, 10**10))

    assert sound(floor + 1)
    assert floor < 1 or not sound(floor - 1)


@given(st.integers(1, 10**7))
def test_maurers_constant(m: int) -> None:
    def exact() -> mpf:
        root = mp.sqrt(2 * mp.pi * m) * mp.exp(mpf(1) / (12 * m))
        return 1 + (root - mpf(2) / 3 - 8 / (135 * (m + mpf(8) / 45))) / 2

    assert encloses(c.maurer_constant(m), exact)
