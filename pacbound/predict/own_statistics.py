"""Batch-normalisation statistics of drawn networks, each with its own."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from pacbound.predict.ensemble import fast

__all__ = ["OwnStatistics"]


class OwnStatistics:
    """The means and variances that the layers of a drawn network have on training inputs.

    The running statistics of training are an average over many draws of the weights. Training
    itself normalises every draw by statistics of its own, and so does this.

    Arguments:
        module: The plain network.
        inputs: Training inputs of the network.
    """

    def __init__(self, module: nn.Module, inputs: Tensor) -> None:
        self.inputs = inputs
        self.module = copy.deepcopy(module).eval()
        self.start: dict[str, Tensor] = {}
        self.known: dict[int, dict[str, Tensor]] = {}  # they are few numbers
        for name, layer in self.module.named_modules():
            if isinstance(layer, _BatchNorm):
                layer.train().momentum = 1.0  # of this one batch alone
                self.start |= {f"{name}.{key}": value for key, value in layer.named_buffers()}

    def of(self, number: int, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The buffers of network `number`, which has these weights."""
        if number not in self.known:
            statistics = {name: value.clone() for name, value in self.start.items()}
            there = {name: fast(value) for name, value in weights.items()}
            with torch.no_grad():
                functional_call(self.module, {**there, **statistics}, (self.inputs,))
            self.known[number] = statistics
        return self.known[number]
