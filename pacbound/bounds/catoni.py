"""Catoni's PAC-Bayes inequality: linear in the risk and the KL, with a trade-off β > ½.

O. Catoni, "PAC-Bayesian Supervised Classification" (2007); in this form D. McAllester, "A
PAC-Bayesian Tutorial with a Dropout Bound" (2013), Theorem 2.

Valid when: loss in [0, 1]; m independent examples; prior fixed before the sample; β fixed before
the sample. With a β fitted to the sample it is an objective, not a bound, unless β lies on the grid
β_k = ½ + k/20, k = 1, 2, …, and its index is paid for: `nats` then includes `index_cost(k)`.
"""

from __future__ import annotations

from pacbound.bounds.arithmetic import Real, log, sqrt
from pacbound.bounds.prior_grid import index_cost

__all__ = ["best_beta", "best_index", "bound", "grid_beta"]


def bound(risk: Real, nats: Real, m: Real, delta: Real, beta: Real) -> Real:
    """(1 − 1/(2β))⁻¹ (risk + (β/m)(nats + ln(1/δ)))."""
    return (risk + beta / m * (nats + log(1 / delta))) / (1 - 1 / (2 * beta))


def best_beta(risk: Real, nats: Real, m: Real, delta: Real) -> Real:
    """The β that minimises the bound: ½(1 + √(1 + 2·risk/c)), c = (nats + ln(1/δ))/m."""
    c = (nats + log(1 / delta)) / m
    return (1 + sqrt(1 + 2 * risk / c)) / 2


def grid_beta(index: Real) -> Real:
    """β_k = ½ + k/20."""
    return (index + 10) / 20


def best_index(risk: float, nats: float, m: int, delta: float) -> int:
    """The k that minimises the bound, including the cost of k.

    The cost grows with k, and the bound without it is convex in β. So no k above the one next to
    the best β can win.
    """
    last = max(1, round(20 * best_beta(risk, nats, m, delta) - 10) + 1)
    return min(
        range(1, last + 1),
        key=lambda k: bound(risk, nats + index_cost(k), m, delta, grid_beta(k)),
    )
