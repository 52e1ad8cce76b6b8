"""The grid of prior variances, and the cost of an index into a list.

λ_j = c·exp(−j/b), j = 1, 2, …, with weight 6/(π²j²) each: J. Langford and R. Caruana, "(Not)
Bounding the True Error" (2001), and Dziugaite and Roy (2017), section 3.1. By a union bound with
these weights, a bound holds for all indices at once if ln(π²j²/6) is added to the KL.

Valid when: the list is declared before the sample; the index is an integer ≥ 1.
"""

from __future__ import annotations

import math

from pacbound.bounds.arithmetic import Real, exp, log, pi
from pacbound.bounds.gaussian_kl import gaussian_kl

__all__ = ["B", "C", "best_index", "index_cost", "index_of", "variance"]

B = 100
C = 0.1


def variance(index: Real) -> Real:
    """λ_j = c·exp(−j/b), where c is the decimal 0.1, also for an interval."""
    return exp(-index / B) / 10


def index_of(variance: Real) -> Real:
    """The real j with λ_j = `variance`, for training between the points of the grid."""
    return -B * log(10 * variance)


def index_cost(k: Real) -> Real:
    """2 ln k + ln(π²/6): the cost of choosing the k-th entry of a declared list."""
    if k < 1:
        raise ValueError(f"an index into a declared list is at least 1, got {k}")
    return 2 * log(k) + log(pi(k) ** 2 / 6)


def best_index(second_moment: float, d: int) -> int:
    """The j that minimises KL(λ_j) + 2 ln j.

    KL alone decreases in j until λ_j = T/d, and the cost only grows. So the best j is not beyond
    that point. Before it there can be a second local minimum (j = 1), hence the full scan.
    """
    if not 0 < second_moment < math.inf:
        raise ValueError(f"the second moment must be positive and finite, got {second_moment}")
    last = max(1, math.ceil(index_of(second_moment / d)))
    return min(
        range(1, last + 1),
        key=lambda j: gaussian_kl(second_moment, 0.0, d, variance(j)) + 2 * math.log(j),
    )
