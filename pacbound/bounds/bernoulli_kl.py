"""kl(q‖p), the relative entropy of two Bernoulli distributions, and its inverse, rounded up."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from pacbound.bounds.arithmetic import Real, log, log1p
from pacbound.bounds.figures import smallest_rate
from pacbound.bounds.rounding import exact, highest, lowest, precise, smallest_float

__all__ = [
    "bernoulli_kl",
    "bernoulli_kl_inverse",
    "bernoulli_kl_inverse_derivatives",
    "kl_inverse_rate",
]


def bernoulli_kl(q: Real, p: Real) -> Real:
    """q ln(q/p) + (1−q) ln((1−q)/(1−p)), for scalars.

    Valid when: 0 ≤ q ≤ 1 and 0 ≤ p ≤ 1. A float NaN is refused. An interval NaN stays NaN, and no
    comparison with it holds.
    """
    if isinstance(q, float | int) and isinstance(p, float | int):
        if not (0 <= q <= 1 and 0 <= p <= 1):
            raise ValueError(f"kl(q‖p) needs q and p in [0, 1], got q = {q}, p = {p}")
        if q == p:
            return 0.0
        if p in (0, 1):
            return math.inf
    heads = 0 * p if q == 0 else q * _log_ratio(q, p, q - p)
    tails = 0 * p if q == 1 else (1 - q) * _log_ratio(1 - q, 1 - p, p - q)
    return heads + tails


def bernoulli_kl_inverse(q: float, c: float) -> float:
    """The largest p with kl(q‖p) ≤ c, rounded up.

    Newton's iteration finds an approximation. The result is the smallest float for which
    interval arithmetic proves kl(q‖p) ≥ c, for both readings of each of the three numbers (see
    `rounding`). It is 1.0 if nothing smaller can be proved.
    """
    if not (0 <= q <= 1 and c >= 0):
        raise ValueError(f"the inverse of kl needs q in [0, 1] and c ≥ 0, got q = {q}, c = {c}")
    if q == 1 or c == math.inf:
        return 1.0
    with precise():
        high_q, high_c = highest(q), highest(c)

        def proved(p: float) -> bool:
            low_p = lowest(p)
            return bool(low_p >= high_q) and bool(bernoulli_kl(high_q, low_p) >= high_c)

        return smallest_float(proved, guess=_newton(q, c), low=q)


def kl_inverse_rate(q: Fraction, c: Real, factor: int = 1) -> Decimal:
    """`factor` times the largest p with kl(q‖p) ≤ c, as a proved rate; in `precise`.

    Arguments:
        q: A rate, taken as exact.
        c: An interval. If it is not above 0, p is q.
    """
    risk = exact(q)

    def proved(rate: Fraction) -> bool:
        p = rate / factor
        if c <= 0:
            return p >= q
        return p > q and (p >= 1 or bool(bernoulli_kl(risk, exact(p)) >= c))

    guess = _newton(float(q), float(c.upper())) if c > 0 and q < 1 else float(q)
    return smallest_rate(proved, factor * guess)


def bernoulli_kl_inverse_derivatives(q: Real, p: Real) -> tuple[Real, Real]:
    """(∂p/∂q, ∂p/∂c) of p = kl⁻¹(q, c), by implicit differentiation of kl(q‖p) = c.

    Valid when: q ≤ p. At p = 1 the bound is vacuous and flat. At q = p (so c = 0) its slope in c
    is infinite. At q = 0 its slope in q is infinite.
    """
    if p >= 1:
        return 0.0, 0.0
    if q == p:
        return 1.0, math.inf
    slope = (1 - q) / (1 - p) - q / p
    if q == 0:
        return math.inf, 1 / slope
    return (log((1 - q) / (1 - p)) - log(q / p)) / slope, 1 / slope


def _log_ratio(a: Real, b: Real, difference: Real) -> Real:
    """ln(a/b), from a − b if a and b are close and the quotient would lose digits."""
    near = a < 2 * b and b < 2 * a
    return log1p(difference / b) if near else log(a) - log(b)


def _newton(q: float, c: float) -> float:
    """An approximate kl⁻¹(q, c). kl is convex in p, so Newton stays right of the root."""
    if q == 0:
        return -math.expm1(-c)
    low, high = q, 1.0
    p = min(q + math.sqrt(c / 2), math.nextafter(1.0, 0.0))  # Pinsker: right of the root
    for _ in range(100):
        excess = bernoulli_kl(q, p) - c
        if excess > 0:
            high = p
        else:
            low = p
        if p == q:
            break
        following: float = p - excess * p * (1 - p) / (p - q)
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - p) <= 4e-16 * p:
            return following
        p = following
    return p
