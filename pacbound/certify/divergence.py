"""KL(q‖p): its primitives for every variance group, in float64, rounded outward."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from pacbound.certify.chunks import Report, over_chunks, silent
from pacbound.flows import certified_norm
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import Posterior
from pacbound.seeds import Noise, derive

__all__ = ["ExactPrimitives", "SampledPrimitives", "exact_primitives", "sampled_primitives"]

CHUNK = 10  # samples that share one derived seed


@dataclass(frozen=True)
class ExactPrimitives:
    """What the KL of the layers that share a prior variance is computed from."""

    layers: tuple[str, ...]
    parameters: int
    trace: float  # at least the trace of the covariance
    distance_sq: float  # at least ‖M − Θ0‖²
    log_det: float  # at most log|det|


@dataclass(frozen=True)
class SampledPrimitives:
    """The same where the second moment is sampled."""

    layers: tuple[str, ...]
    parameters: int
    mean_square: float  # at least the mean of ‖W − Θ0‖² over the samples
    lipschitz: float  # at least the Lipschitz constant of E ↦ W
    offset: float  # at least ‖W(0) − Θ0‖
    log_det: float  # at most log|det|


@torch.no_grad()
def exact_primitives(
    network: StochasticNetwork, center: Mapping[str, Tensor], grouping: str
) -> list[ExactPrimitives]:
    """The primitives of every group of Gaussian posteriors."""
    groups = []
    for layers, members in _groups(copy.deepcopy(network).double(), center, grouping):
        d = sum(q.mean.numel() for q, _ in members)
        trace = sum(float(q.trace()) for q, _ in members)
        distance = sum(float((q.mean - part).square().sum()) for q, part in members)
        groups.append(
            ExactPrimitives(layers, d, _up(trace, d), _up(distance, d), _log_det_below(members))
        )
    return groups


@torch.no_grad()
def sampled_primitives(
    network: StochasticNetwork,
    center: Mapping[str, Tensor],
    grouping: str,
    samples: int,
    seed: str,
    workers: int = 1,
    report: Report = silent,
) -> list[SampledPrimitives]:
    """The primitives of every group, from fresh samples of the weights in float64."""
    precise = copy.deepcopy(network).double()

    def work(own: StochasticNetwork, number: int) -> list[list[float]]:
        source = Noise(derive("kl samples", seed, number))
        groups = _groups(own, center, grouping)
        return [
            [_squared_distance(members, source) for _, members in groups]
            for _ in range(min(CHUNK, samples - number * CHUNK))
        ]

    chunks = math.ceil(samples / CHUNK)
    results = over_chunks("sampling the KL", precise, chunks, work, workers, report)
    squares = [row for rows in results for row in rows]  # (samples, groups)
    primitives = []
    for place, (layers, members) in enumerate(_groups(precise, center, grouping)):
        d = sum(q.mean.numel() for q, _ in members)
        mean = math.fsum(row[place] for row in squares) / samples
        primitives.append(
            SampledPrimitives(
                layers,
                d,
                _up(mean, d),
                max(q.lipschitz(certified_norm) for q, _ in members),
                _up(math.sqrt(_squared_distance(members, None)), d),
                _log_det_below(members),
            )
        )
    return primitives


def _groups(
    network: StochasticNetwork, center: Mapping[str, Tensor], grouping: str
) -> list[tuple[tuple[str, ...], list[tuple[Posterior, Tensor]]]]:
    """The layers of every group, with their posteriors and centres in float64."""
    posteriors = list(network.posteriors(center))
    return [
        (tuple(layers), [(q, part.double()) for name, q, part in posteriors if name in layers])
        for layers in network.variance_groups(grouping)
    ]


def _squared_distance(members: list[tuple[Posterior, Tensor]], source: Noise | None) -> float:
    """‖W − Θ0‖² for one draw; for E = 0 without a source."""
    total = 0.0
    for q, part in members:
        if source is None:
            standard_normal = torch.zeros(q.shape, dtype=torch.float64)
        else:
            standard_normal = source.normal(*q.shape, dtype=torch.float64)
        total += float((q.sample(standard_normal) - part).square().sum())
    return total


def _rounding(terms: int) -> float:
    """A bound on the relative error of a float64 sum of so many non-negative terms.

    n additions in any order err by at most (n−1)u/(1−(n−1)u), u = 2⁻⁵³ (Higham, "Accuracy and
    Stability of Numerical Algorithms", section 4.2). The terms themselves come from products with
    matrices of far fewer columns and a few squares and exponentials of one rounding each: twice u
    and the added 1000 cover them.
    """
    return (terms + 1000) * 2.0**-52


def _up(total: float, terms: int) -> float:
    return math.nextafter(total * (1 + _rounding(terms)), math.inf)


def _log_det_below(members: list[tuple[Posterior, Tensor]]) -> float:
    """log|det| less the rounding error of its sum, whose terms may have both signs."""
    total = error = 0.0
    for q, _ in members:
        d = q.mean.numel()
        magnitude = d * sum(float(scale.log().abs().max()) for scale in q.scales())
        total += float(q.log_det())
        error += magnitude * _rounding(d)
    return total - error - abs(total) * _rounding(len(members))
