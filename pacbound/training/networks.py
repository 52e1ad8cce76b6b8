"""The plain network of the settings, and what it sees of raw inputs."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from pacbound.networks.input_map import map_inputs
from pacbound.networks.lenet import lenet
from pacbound.networks.mlp import mlp
from pacbound.networks.vgg import vgg
from pacbound.recipes import Settings

__all__ = ["network_inputs", "plain_network"]


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
