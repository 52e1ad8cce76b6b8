"""Confidence limits of means whose terms are bounded on one side only, as weighted rewards are."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["average_lower_limit", "mean_lower_limit"]

Array = NDArray[np.float64]
MOST = 0.75  # of the wealth may be lost on one term
RATES = 0.5 ** np.arange(1, 16)  # λ of the mixture
SHARES = 1 / (np.arange(1, 16) * np.arange(2, 17))
HALVINGS = 60


def mean_lower_limit(terms: Array, floor: float, delta: float) -> float:
    """A number that the mean is below with probability at most δ.

    I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting" (2024),
    and for weighted rewards I. Waudby-Smith, L. Wu, A. Ramdas, N. Karampatziakis and P. Mineiro,
    "Anytime-valid off-policy inference for contextual bandits" (2024). The wealth
    Π(1 + λ_t (X_t − v)) with bets λ_t from earlier terms has a mean of 1 at the true v, so it is
    1/δ or more with probability at most δ (Markov). As λ_t is at most MOST/(v + floor), no factor
    is negative, and each of them falls with v. The limit is the smallest v with less than 1/δ.

    Valid when: given the earlier ones, every term has the same mean, and is at least −floor; the
    number of terms does not depend on them.
    """
    count = np.arange(1, len(terms) + 1)
    means = np.concatenate([[0.5], (0.5 + np.cumsum(terms)) / (1 + count)])[:-1]
    squares = np.cumsum((terms - means) ** 2)
    variances = np.concatenate([[0.25], (0.25 + squares) / (1 + count)])[:-1]
    bets = np.sqrt(2 * math.log(1 / delta) / (len(terms) * variances))

    def lost(v: float) -> bool:
        most = MOST / (v + floor) if v + floor > 0 else np.inf
        wealth = np.log1p(np.minimum(bets, most) * (terms - v)).sum()
        return bool(wealth < math.log(1 / delta))

    return _last_not_lost(lost, -floor, float(terms.mean()))


def average_lower_limit(terms: Array, delta: float, floor: float = 0.0, most: float = 1.0) -> float:
    """A number that the average of the terms' conditional means is below with probability ≤ δ.

    S. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, "Time-uniform, nonparametric, nonasymptotic
    confidence sequences" (2021), theorem 4: with guesses g_t ≤ most from earlier terms,
    c = floor + most, and ψ(λ) = −ln(1 − λ) − λ, exp(λ Σ(X_t − μ_t)/c − ψ(λ) Σ(X_t − g_t)²/c²) is a
    supermartingale for every λ in (0, 1), and so is a mixture of several.

    Valid when: every term is at least −floor. The means and the number of terms may depend on
    earlier ones. `most` is a bound of the guesses, not of the terms.
    """
    if not len(terms):
        return -floor
    width = floor + most
    count = np.arange(1, len(terms) + 1)
    guesses = np.concatenate([[0.5], (0.5 + np.cumsum(terms)) / (1 + count)])[:-1]
    variation = float(np.square((terms - np.minimum(guesses, most)) / width).sum())
    total = float(terms.sum())
    penalties = (-np.log1p(-RATES) - RATES) * variation

    def lost(average: float) -> bool:
        gains = RATES * (total - average * len(terms)) / width
        exponents = np.log(SHARES) + gains - penalties
        return bool(np.logaddexp.reduce(exponents) < math.log(1 / delta))

    return _last_not_lost(lost, -floor, total / len(terms))


def _last_not_lost(lost: Callable[[float], bool], low: float, high: float) -> float:
    """The point where `lost` turns true, from below; the low end if it is true everywhere."""
    if high <= low or lost(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if lost(middle) else (middle, high)
    return low
