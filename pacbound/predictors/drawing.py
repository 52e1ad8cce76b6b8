"""One network drawn from the posterior: its weights and its ln(dq/dp)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from pacbound.networks.stochastic import StochasticNetwork
from pacbound.predictors.outward import grouped, log_det_below, sum_above, sum_below
from pacbound.seeds import Noise, derive

__all__ = ["Drawn", "DrawnPrimitives", "draw_network"]


@dataclass(frozen=True)
class DrawnPrimitives:
    """The primitives of ln(dq/dp) for the layers that share a prior variance."""

    layers: tuple[str, ...]
    parameters: int
    distance_sq: float  # upper bound of ‖w − Θ0‖²
    noise_sq: float  # lower bound of ‖ε‖²
    log_det: float  # lower bound of log|det|


@dataclass(frozen=True)
class Drawn:
    """The drawn weights, in float32 as a state dict of the plain network, and their primitives."""

    weights: dict[str, Tensor]
    groups: list[DrawnPrimitives]


@torch.no_grad()
def draw_network(
    network: StochasticNetwork, center: Mapping[str, Tensor], grouping: str, seed: str
) -> Drawn:
    """Draw the weights w in float64 and round them to float32.

    The densities are those at w itself. The network with the rounded weights is a function of w,
    so a bound for the function of w is a bound on this network's error.
    """
    precise = copy.deepcopy(network).double()
    source = Noise(derive("drawn weights", seed))
    posteriors = list(precise.posteriors(center))
    noises = [source.normal(*q.shape, dtype=torch.float64) for _, q, _ in posteriors]
    values = precise.sample_blocks(noises)
    squares = {
        q: (float((value - part.double()).square().sum()), float(noise.square().sum()))
        for (_, q, part), value, noise in zip(posteriors, values, noises, strict=True)
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
