"""A training problem built from its settings: data, prior's centre and stochastic network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from pacbound.data import Dataset
from pacbound.networks.initializers import prior_center
from pacbound.networks.input_map import map_inputs
from pacbound.networks.lenet import lenet
from pacbound.networks.mlp import mlp
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.networks.vgg import vgg
from pacbound.posteriors import posterior_named
from pacbound.recipes import Settings

__all__ = ["Problem", "build", "network_inputs", "plain_network"]


def plain_network(settings: Settings, input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """The network of the settings, for inputs of a shape and a number of classes."""
    if settings.network == "lenet":
        return lenet(input_shape, settings.hidden, classes)
    if settings.network == "vgg":
        return vgg(input_shape, settings.hidden, classes, settings.batch_norm)
    return mlp(input_shape, settings.hidden, classes)


def network_inputs(settings: Settings, inputs: np.ndarray) -> Tensor:
    """What the network of the settings sees of raw inputs."""
    return map_inputs(inputs, settings.input_scale, settings.smoothing, settings.alignment)


@dataclass(frozen=True)
class Problem:
    """A stochastic network at its prior, and the prior's centre."""

    network: StochasticNetwork
    center: dict[str, Tensor]


def build(settings: Settings, data: Dataset) -> Problem:
    """The prior's centre from its seed, and the posterior around it."""
    module = plain_network(settings, data.input_shape, data.classes)
    center = prior_center(module, settings.initializer, settings.prior_seed, settings.hidden_bias)
    family = posterior_named(
        settings.posterior,
        kind=settings.flow,
        hidden=settings.flow_hidden,
        steps=settings.flow_steps,
        seed=str(settings.seed),
    )
    mean = center
    if settings.start != "prior":
        mean = prior_center(module, settings.start, settings.prior_seed)
    return Problem(StochasticNetwork(module, mean, family, settings.initial_scale), center)
