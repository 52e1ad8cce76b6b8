"""Sums over the weights of a variance group, in float64, on their safe side."""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor

from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import Posterior

__all__ = ["grouped", "log_det_below", "rounding", "sum_above", "sum_below"]


def grouped(
    network: StochasticNetwork, center: Mapping[str, Tensor], grouping: str
) -> list[tuple[tuple[str, ...], list[tuple[Posterior, Tensor]]]]:
    """The layers of every group, with their posteriors and centres in float64."""
    posteriors = list(network.posteriors(center))
    return [
        (tuple(layers), [(q, part.double()) for name, q, part in posteriors if name in layers])
        for layers in network.variance_groups(grouping)
    ]


def rounding(terms: int) -> float:
    """A bound on the relative error of a float64 sum of so many non-negative terms.

    n additions in any order err by at most (n−1)u/(1−(n−1)u), u = 2⁻⁵³ (Higham, "Accuracy and
    Stability of Numerical Algorithms", section 4.2). The terms themselves come from products with
    matrices of far fewer columns and a few squares and exponentials of one rounding each: twice u
    and the added 1000 cover them.
    """
    return (terms + 1000) * 2.0**-52


def sum_above(total: float, terms: int) -> float:
    """A number that the exact sum of so many non-negative terms is not above."""
    return math.nextafter(total * (1 + rounding(terms)), math.inf)


def sum_below(total: float, terms: int) -> float:
    """A number that the exact sum of so many non-negative terms is not below."""
    return max(math.nextafter(total * (1 - rounding(terms)), -math.inf), 0.0)


def log_det_below(members: list[tuple[Posterior, Tensor]]) -> float:
    """log|det| less the rounding error of its sum, whose terms may have both signs."""
    total = error = 0.0
    for q, _ in members:
        d = q.mean.numel()
        magnitude = d * sum(float(scale.log().abs().max()) for scale in q.scales())
        total += float(q.log_det())
        error += magnitude * rounding(d)
    return total - error - abs(total) * rounding(len(members))
