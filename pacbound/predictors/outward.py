"""Sums over the weights of a variance group, in float64, rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor

from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import Piece

__all__ = ["grouped", "log_det_below", "rounding", "sum_above", "sum_below"]

SMALLEST = math.ulp(0.0)  # 2⁻¹⁰⁷⁴


def grouped(
    network: StochasticNetwork, center: Mapping[str, Tensor], grouping: str
) -> list[tuple[tuple[str, ...], list[tuple[Piece, Tensor]]]]:
    """The layers of every group, with their posteriors and centres in float64."""
    posteriors = list(network.posteriors(center))
    return [
        (tuple(layers), [(q, part.double()) for name, q, part in posteriors if name in layers])
        for layers in network.variance_groups(grouping)
    ]


def rounding(terms: int) -> float:
    """A bound r on the relative error |computed − exact|/exact of a sum of non-negative terms.

    With u = 2⁻⁵³ and γ_k = ku/(1 − ku): n − 1 additions in any order multiply every term by a
    factor of relative error at most γ_(n−1) (Higham, "Accuracy and Stability of Numerical
    Algorithms", section 4.2). A term with at most 1000 roundings of its own has a factor
    within γ_1000. Together they stay within γ_(n+999) (Higham, Lemma 3.3), which is at most
    2(n + 999)u while (n + 999)u ≤ ½; r = 2(n + 1000)u is above that, and exact in float64.

    Valid when: every term has a relative error of at most 1000 roundings; n ≤ 2⁵¹.
    """
    return (terms + 1000) * 2.0**-52


def sum_above(total: float, terms: int) -> float:
    """An upper bound of the exact sum of non-negative terms.

    Arguments:
        total: The computed sum.

    From computed ≥ (1 − r) · exact follows exact ≤ computed/(1 − r). (computed · (1 + r) is less
    than that: it would only suffice for errors relative to the computed sum.) 1 − r is exact, the
    division rounds once. Terms that underflow lose at most 2⁻¹⁰⁷⁴ each.
    """
    quotient = math.nextafter(total / (1 - rounding(terms)), math.inf)
    return math.nextafter(quotient + terms * SMALLEST, math.inf)


def sum_below(total: float, terms: int) -> float:
    """A lower bound of the exact sum of non-negative terms.

    From computed ≤ (1 + r) · exact follows exact ≥ computed/(1 + r).
    """
    quotient = math.nextafter(total / (1 + rounding(terms)), -math.inf)
    return max(math.nextafter(quotient - terms * SMALLEST, -math.inf), 0.0)


def log_det_below(members: list[tuple[Piece, Tensor]]) -> float:
    """log|det| minus the rounding error of its sum, whose terms may have both signs."""
    total = error = 0.0
    for q, _ in members:
        d = q.mean.numel()
        magnitude = d * sum(float(scale.log().abs().max()) for scale in q.scales())
        total += float(q.log_det())
        error += magnitude * rounding(d)
    return total - error - abs(total) * rounding(len(members))
