"""KL(q‖p): its primitives for every variance group, in float64, rounded outward."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from pacbound.flows import certified_norm
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import Piece
from pacbound.predictors.chunks import ALONE, Sampler
from pacbound.predictors.outward import grouped, log_det_below, sum_above
from pacbound.seeds import Noise, derive
from pacbound.workers.engine import Chunk

__all__ = ["ExactPrimitives", "SampledPrimitives", "exact_primitives", "sampled_primitives"]

CHUNK = 10  # samples that share one derived seed


@dataclass(frozen=True)
class ExactPrimitives:
    """The primitives of the KL for the layers that share a prior variance."""

    layers: tuple[str, ...]
    parameters: int
    trace: float  # upper bound of the trace of the covariance
    distance_sq: float  # upper bound of ‖M − Θ0‖²
    log_det: float  # lower bound of log|det|


@dataclass(frozen=True)
class SampledPrimitives:
    """The same for a sampled second moment."""

    layers: tuple[str, ...]
    parameters: int
    mean_square: float  # upper bound of the mean of ‖W − Θ0‖² over the samples
    lipschitz: float  # upper bound of the Lipschitz constant of E ↦ W
    offset: float  # upper bound of ‖W(0) − Θ0‖
    log_det: float  # lower bound of log|det|


@torch.no_grad()
def exact_primitives(
    network: StochasticNetwork, center: Mapping[str, Tensor], grouping: str
) -> list[ExactPrimitives]:
    """The primitives of every group of Gaussian posteriors."""
    groups = []
    for layers, members in grouped(copy.deepcopy(network).double(), center, grouping):
        d = sum(q.mean.numel() for q, _ in members)
        trace = sum(float(q.trace()) for q, _ in members)
        distance = sum(float((q.mean - part).square().sum()) for q, part in members)
        normals = sum(q.normals for q, _ in members)  # the trace is a sum over all of them
        sums = sum_above(trace, normals), sum_above(distance, d)
        groups.append(ExactPrimitives(layers, d, *sums, log_det_below(members)))
    return groups


@dataclass(frozen=True)
class _SquaredDistances:
    """Samples of the weights; a chunk's result is ‖W − Θ0‖² by sample and group."""

    network: StochasticNetwork  # in float64
    center: Mapping[str, Tensor]
    grouping: str
    samples: int
    seed: str

    @property
    def chunks(self) -> int:
        return math.ceil(self.samples / CHUNK)

    @property
    def identity(self) -> str:
        return derive("squared distances", self.seed, self.grouping, self.samples, CHUNK)

    def begin(self) -> Chunk:
        each = _Distances(copy.deepcopy(self.network), self.center, self.grouping)

        def distances(number: int) -> list[list[float]]:
            source = Noise(derive("kl samples", self.seed, number))
            return [each.of(source) for _ in range(min(CHUNK, self.samples - number * CHUNK))]

        return distances


@torch.no_grad()
def sampled_primitives(
    network: StochasticNetwork,
    center: Mapping[str, Tensor],
    grouping: str,
    samples: int,
    seed: str,
    sampler: Sampler = ALONE,
) -> list[SampledPrimitives]:
    """The primitives of every group, from fresh samples of the weights in float64."""
    precise = copy.deepcopy(network).double()
    work = _SquaredDistances(precise, center, grouping, samples, seed)
    results = sampler.results("sampling the KL", work)
    squares = [row for rows in results for row in rows]  # (samples, groups)
    primitives = []
    at_zero = _Distances(precise, center, grouping).of(None)
    for place, (layers, members) in enumerate(grouped(precise, center, grouping)):
        d = sum(q.mean.numel() for q, _ in members)
        mean = math.fsum(row[place] for row in squares) / samples
        lipschitz = max(q.lipschitz(certified_norm) for q, _ in members)
        offset = sum_above(math.sqrt(at_zero[place]), d)
        primitives.append(
            SampledPrimitives(
                layers,
                d,
                sum_above(mean, d),
                lipschitz,
                offset + _missing(members, d, lipschitz),
                log_det_below(members),
            )
        )
    return primitives


def _missing(members: list[tuple[Piece, Tensor]], d: int, lipschitz: float) -> float:
    """What Theorem 3 must add to the offset of a group that depends on the noise of others.

    Its constant needs an upper bound of E‖W − Θ0‖ ≤ ‖W(0) − Θ0‖ + L·E‖ε‖, with E‖ε‖ ≤ √D for the D
    normals that the weights of the group are functions of. The checker uses √d for the d weights of
    the group. If maps run across groups then D > d, and L(√D − √d) is missing there; so it belongs
    to the offset, which may be any upper bound. The Gaussian tail contains neither d nor offset.
    """
    normals = sum(q.normals for q, _ in members)
    if normals == d:
        return 0.0
    return lipschitz * (math.sqrt(normals) - math.sqrt(d)) * (1 + 1e-9)


class _Distances:
    """‖W − Θ0‖² of every group, draw by draw.

    Arguments:
        network: The posterior, in float64.
        center: The prior's centre, by parameter name.
        grouping: The layers that share one variance.
    """

    def __init__(
        self, network: StochasticNetwork, center: Mapping[str, Tensor], grouping: str
    ) -> None:
        posteriors = list(network.posteriors(center))
        self._network = network
        self._shapes = [q.shape for _, q, _ in posteriors]
        self._centers = [part.double() for _, _, part in posteriors]
        self._groups = [
            [place for place, (name, _, _) in enumerate(posteriors) if name in layers]
            for layers in network.variance_groups(grouping)
        ]

    def of(self, source: Noise | None) -> list[float]:
        """For one draw of all weights; for E = 0 if there is no source."""
        noises = [torch.zeros(0)] * len(self._shapes)
        for place in (place for group in self._groups for place in group):
            shape = self._shapes[place]
            if source is None:
                noises[place] = torch.zeros(shape, dtype=torch.float64)
            else:
                noises[place] = source.normal(*shape, dtype=torch.float64)
        values = self._network.sample_blocks(noises)
        squares = [
            float((value - part).square().sum())
            for value, part in zip(values, self._centers, strict=True)
        ]
        return [sum(squares[place] for place in group) for group in self._groups]
