"""One network drawn from the posterior: its weights, ln(dq/dp) there, and its errors."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pacbound.certify.outward import grouped, log_det_below, sum_above, sum_below
from pacbound.certify.risk import Examples, is_error
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.seeds import Noise, derive

__all__ = ["Drawn", "DrawnPrimitives", "draw_network", "draw_seed", "errors_of"]

CHUNK = 2000  # examples at a time, to bound the memory


@dataclass(frozen=True)
class DrawnPrimitives:
    """What ln(dq/dp) of the layers that share a prior variance is computed from."""

    layers: tuple[str, ...]
    parameters: int
    distance_sq: float  # at least ‖w − Θ0‖²
    noise_sq: float  # at most ‖ε‖²
    log_det: float  # at most log|det|


@dataclass(frozen=True)
class Drawn:
    """The drawn weights, in float32 as a state dict of the plain network, and their primitives."""

    weights: dict[str, Tensor]
    groups: list[DrawnPrimitives]


def draw_seed(checkpoint_sha256: str, data_sha256: str) -> str:
    """The only seed that a checkpoint's network is drawn with on given data."""
    return derive("draw", checkpoint_sha256, data_sha256)


@torch.no_grad()
def draw_network(
    network: StochasticNetwork, center: Mapping[str, Tensor], grouping: str, seed: str
) -> Drawn:
    """Draw the weights w in float64 and round them to float32.

    The densities are those at w itself. The network with the rounded weights is a function of w,
    so a bound on the error of what w was made into is a bound on its error.
    """
    precise = copy.deepcopy(network).double()
    source = Noise(derive("drawn weights", seed))
    noises, values = [], []
    for _, q, _ in precise.posteriors(center):
        noises.append(source.normal(*q.shape, dtype=torch.float64))
        values.append(q.sample(noises[-1]))
    squares = {
        q: (float((value - part.double()).square().sum()), float(noise.square().sum()))
        for (_, q, part), value, noise in zip(
            precise.posteriors(center), values, noises, strict=True
        )
    }
    groups = []
    for layers, members in grouped(precise, center, grouping):
        d = sum(q.mean.numel() for q, _ in members)
        distance, noise = (sum(squares[q][place] for q, _ in members) for place in (0, 1))
        groups.append(
            DrawnPrimitives(
                layers, d, sum_above(distance, d), sum_below(noise, d), log_det_below(members)
            )
        )
    weights = precise.weights_from(values)
    return Drawn({name: w.float().contiguous() for name, w in weights.items()}, groups)


def errors_of(network: nn.Module, examples: Examples) -> int:
    """Errors of a plain network, in float32, on every example once; near ties count as errors."""
    inputs, labels = examples
    total = 0
    with torch.inference_mode():
        for first in range(0, len(labels), CHUNK):
            part = slice(first, first + CHUNK)
            total += int(is_error(network(inputs[part]), labels[part]).sum())
    return total
