"""Upper confidence limit of a mean in [0, 1] that is tighter for draws of small variance.

I. Waudby-Smith and A. Ramdas, "Estimating Means of Bounded Random Variables by Betting" (2024),
with every bet fixed at 1, so that nothing needs tuning. A gambler who believes that the mean is
below p stakes everything on each draw X_t, and the wealth becomes Π(1 + p − X_t). With
probability at least 1 − δ the mean is at most the smallest p at which the wealth is 1/δ.

Proof. Let μ_t = E X_t and μ their average. The draws are independent, so at p = μ the expected
wealth is Π(1 + μ − μ_t), a product of n non-negative numbers with average 1. It is at most 1
(arithmetic and geometric means), and by Markov's inequality P(wealth at μ ≥ 1/δ) ≤ δ. The wealth
grows with p. If the limit is below μ, then the wealth at μ is at least 1/δ, which has probability
at most δ. ∎ The draws need not have the same mean, so every example may be drawn equally often.

As ln(1 + x) is near x − x²/2, the limit is near mean + ln(1/δ)/n + variance/2, where Chernoff's is
near mean + √(2·mean·ln(1/δ)/n). A bet above 1/(1 − p) could lose more than the whole wealth.

Valid when: the draws are independent and in [0, 1]; their number is fixed beforehand.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from pacbound.bounds.arithmetic import Real, log, whole
from pacbound.bounds.figures import smallest_rate
from pacbound.bounds.histogram import Counts, draws_and_mean
from pacbound.bounds.rounding import exact, lowest, precise, smallest_float

__all__ = ["limit", "log_wealth", "risk_limit"]


def log_wealth(counts: Counts, batch: int, p: Real) -> Real:
    """Σ ln(1 + p − X) over all draws X = errors/batch. Valid when: p > 0."""
    one = whole(1, p)
    return sum(times * log(one - one * errors / batch + p) for errors, times in counts)


def limit(counts: Counts, batch: int, level: Real) -> Decimal:
    """The smallest rate at which the wealth is proved to be at least e^level; in `precise`."""
    _, mean = draws_and_mean(counts, batch)
    most = max(errors for errors, _ in counts)

    def proved(p: Fraction) -> bool:
        return most < (1 + p) * batch and bool(log_wealth(counts, batch, exact(p)) >= level)

    return smallest_rate(proved, _newton(counts, batch, float(mean), float(level.upper())))


def risk_limit(counts: Counts, batch: int, delta: float | Decimal) -> float:
    """The smallest float at which the wealth is proved to be at least 1/δ; 1.0 if there is none."""
    if not 0 < delta < 1:
        raise ValueError(f"need 0 < δ < 1, got {delta}")
    _, mean = draws_and_mean(counts, batch)
    guess = _newton(counts, batch, float(mean), math.log(1 / delta))
    with precise():
        needed = log(1 / lowest(delta))

        def proved(p: float) -> bool:
            return p > 0 and bool(log_wealth(counts, batch, lowest(p)) >= needed)

        return smallest_float(proved, guess, low=0.0)


def _newton(counts: Counts, batch: int, mean: float, needed: float) -> float:
    """An approximate limit. The log-wealth is concave, so Newton stays left of the root."""
    p = max(mean, 1e-300)
    for _ in range(100):
        slope = sum(times / (1 - errors / batch + p) for errors, times in counts)
        step = (needed - log_wealth(counts, batch, p)) / slope
        p += step
        if p >= 1:
            return 1.0
        if step <= 1e-16 * p:
            break
    return p
