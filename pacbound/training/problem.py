"""A training problem built from its settings: the prior, and a stochastic network around it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from pacbound.data import Dataset
from pacbound.errors import BadInput
from pacbound.networks.initializers import prior_center, tensors_digest
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import posterior_named
from pacbound.recipes import Settings
from pacbound.training.learned_prior import LearnedPrior
from pacbound.training.networks import plain_network

__all__ = ["Problem", "build"]


@dataclass(frozen=True)
class Problem:
    """A stochastic network at its prior, and that prior.

    The variances are those that a learned prior brings with it, for every variance group; without
    data none is fixed, and any on the grid may be chosen at its price.
    """

    network: StochasticNetwork
    center: dict[str, Tensor]
    variances: tuple[float, ...] | None
    prior_sha256: str


def build(settings: Settings, data: Dataset, learned: LearnedPrior | None = None) -> Problem:
    """The posterior around its prior: a learned one, or one from a seed."""
    module = plain_network(settings, data.input_shape, data.classes)
    family = posterior_named(
        settings.posterior,
        kind=settings.flow,
        hidden=settings.flow_hidden,
        steps=settings.flow_steps,
        seed=str(settings.seed),
    )
    if learned is not None:
        shapes = {name: (value.shape, value.dtype) for name, value in module.named_parameters()}
        if shapes != {name: (value.shape, value.dtype) for name, value in learned.center.items()}:
            raise BadInput("the learned prior's centre is not of the network of its settings")
        network = StochasticNetwork(module, learned.center, family, _scales(learned))
        if len(learned.variances) != len(network.variance_groups(settings.variance_groups)):
            raise BadInput("the learned prior must bring one variance for each variance group")
        return Problem(network, learned.center, learned.variances, learned.sha256)
    center = prior_center(module, settings.initializer, settings.prior_seed, settings.hidden_bias)
    mean = center
    if settings.start != "prior":
        mean = prior_center(module, settings.start, settings.prior_seed)
    network = StochasticNetwork(module, mean, family, settings.initial_scale)
    return Problem(network, center, None, tensors_digest(center))


def _scales(learned: LearnedPrior) -> list[float]:
    """The posterior starts as the prior, where its KL is 0: a scale for all layers, or for each."""
    return [math.sqrt(variance) for variance in learned.variances]
