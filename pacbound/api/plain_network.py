"""Ordinary networks that take raw inputs, and the map from raw inputs to theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pacbound.networks.input_map import InputMap
from pacbound.recipes import Settings
from pacbound.training.networks import network_inputs

__all__ = ["PlainNetwork", "as_raw", "mapped"]


class PlainNetwork(nn.Module):
    """An ordinary network behind the fixed map of its inputs.

    Arguments:
        network: The network itself, with weights.
        settings: The settings of the input map.
    """

    def __init__(self, network: nn.Module, settings: Settings) -> None:
        super().__init__()
        self.network, self.settings = network, settings

    def forward(self, inputs: Tensor | NDArray[Any]) -> Tensor:
        """The logits of raw inputs, as stored in the data set."""
        logits: Tensor = self.network(mapped(self.settings, inputs))
        return logits


def as_raw(array: NDArray[Any]) -> NDArray[Any]:
    """Bytes unchanged; other numbers as float32."""
    return array if array.dtype == np.uint8 else np.asarray(array, np.float32)


def mapped(settings: Settings, inputs: Tensor | NDArray[Any]) -> Tensor:
    """The network's inputs for raw inputs; a tensor keeps its device and its graph."""
    if not isinstance(inputs, Tensor):
        return network_inputs(settings, as_raw(np.asarray(inputs)))
    if settings.alignment != "none":
        return network_inputs(settings, as_raw(inputs.detach().cpu().numpy()))
    floats = inputs.float() / 255 if inputs.dtype == torch.uint8 else inputs
    input_map = InputMap(
        inputs.shape[1:], settings.input_scale, settings.smoothing, settings.input_shift
    )
    mapped: Tensor = input_map(floats)
    return mapped
