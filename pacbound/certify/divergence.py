"""KL(q‖p): its primitives for every variance group, in float64, rounded outward."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from pacbound.bounds.prior_grid import best_index
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import Posterior

__all__ = ["GroupPrimitives", "primitives"]


@dataclass(frozen=True)
class GroupPrimitives:
    """What the KL of the layers that share a prior variance is computed from."""

    layers: list[str]
    parameters: int
    trace: float  # at least the trace of the covariance
    distance_sq: float  # at least ‖M − Θ0‖²
    log_det: float  # at most log|det|
    index: int  # of the prior variance on its grid


@torch.no_grad()
def primitives(
    network: StochasticNetwork, center: dict[str, Tensor], grouping: str
) -> list[GroupPrimitives]:
    """The primitives of every group, and the index that makes its KL and cost smallest."""
    precise = copy.deepcopy(network).double()
    posteriors = list(precise.posteriors(center))
    groups = []
    for layers in precise.variance_groups(grouping):
        members = [(q, part) for name, q, part in posteriors if name in layers]
        trace = sum(_up(float(q.trace()), q.mean.numel()) for q, _ in members)
        distance = sum(
            _up(float((q.mean - c.double()).square().sum()), q.mean.numel()) for q, c in members
        )
        log_det = sum(_log_det_below(q) for q, _ in members)
        d = sum(q.mean.numel() for q, _ in members)
        trace, distance = _up(trace, len(members)), _up(distance, len(members))
        log_det -= abs(log_det) * _rounding(len(members))
        index = best_index(trace + distance, d)
        groups.append(GroupPrimitives(layers, d, trace, distance, log_det, index))
    return groups


def _rounding(terms: int) -> float:
    """A bound on the relative error of a float64 sum of so many non-negative terms.

    n additions in any order err by at most (n−1)u/(1−(n−1)u), u = 2⁻⁵³ (Higham, "Accuracy and
    Stability of Numerical Algorithms", section 4.2). The terms themselves are products of a few
    squares and exponentials of one rounding each; twice u and the added 1000 cover them.
    """
    return (terms + 1000) * 2.0**-52


def _up(total: float, terms: int) -> float:
    return math.nextafter(total * (1 + _rounding(terms)), math.inf)


def _log_det_below(posterior: Posterior) -> float:
    """log|det| less the rounding error of its sum, whose terms may have both signs."""
    d = posterior.mean.numel()
    magnitude = d * sum(float(scale.log().abs().max()) for scale in posterior.scales())
    return float(posterior.log_det()) - magnitude * _rounding(d)
