"""Upper confidence limit of a mean in [0, 1] from independent draws.

W. Hoeffding, "Probability Inequalities for Sums of Bounded Random Variables" (1963), Theorem 1, in
its Chernoff form: with probability at least 1 − δ, kl(k/n‖p) ≤ ln(1/δ)/n or p ≤ k/n, p being the
mean of the draws' expectations.

Valid when: the draws are independent and in [0, 1]. They need not be equally distributed, so every
example may be drawn equally often. The number of draws is fixed beforehand.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from pacbound.bounds.arithmetic import Real, log
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse, kl_inverse_rate
from pacbound.bounds.histogram import Counts, draws_and_mean
from pacbound.bounds.rounding import exact, lowest, precise, round_up

__all__ = ["limit", "mean_limit", "risk_limit"]


def limit(mean: Fraction, draws: int, level: Real) -> Decimal:
    """kl⁻¹(mean, level/draws) as a rate. The level ln(1/δ) is an interval, in `precise`."""
    return kl_inverse_rate(mean, level / draws)


def risk_limit(errors: int, draws: int, delta: float | Decimal) -> float:
    """kl⁻¹(errors/draws, ln(1/δ)/draws), both arguments and the result rounded up."""
    if not (0 <= errors <= draws and draws > 0 and 0 < delta < 1):
        raise ValueError(
            f"need 0 ≤ errors ≤ draws and 0 < δ < 1, got {errors} of {draws} with δ = {delta}"
        )
    return _limit(Fraction(errors, draws), draws, delta)


def mean_limit(counts: Counts, batch: int, delta: float | Decimal) -> float:
    """The same for draws that are batch error rates: n is the number of draws, not of examples."""
    if not 0 < delta < 1:
        raise ValueError(f"need 0 < δ < 1, got {delta}")
    draws, mean = draws_and_mean(counts, batch)
    return _limit(mean, draws, delta)


def _limit(mean: Fraction, draws: int, delta: float | Decimal) -> float:
    with precise():
        frequency = round_up(exact(mean))
        allowance = round_up(log(1 / lowest(delta)) / draws)
    return bernoulli_kl_inverse(frequency, allowance)
