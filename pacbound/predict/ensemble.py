"""Several whole networks drawn from the posterior, run on one batch at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

__all__ = ["Dense", "Ensemble", "Separate", "ensemble", "fast"]


class Ensemble(ABC):
    """Networks of one architecture, each with its own weights, used on all examples of a batch."""

    batch: int  # examples per call: fast, and with limited memory

    @abstractmethod
    def __call__(self, inputs: Tensor) -> Tensor:
        """The logits of every network; (networks, batch, classes)."""


class Dense(Ensemble):
    """Dense layers with ReLU between them: one batched product per layer for all networks.

    The first layer has the same inputs in all networks, so its weights are stacked into one matrix:
    a single product of a good size, even if each network has few hidden units.
    """

    batch = 2000

    def __init__(self, module: nn.Sequential, weights: Sequence[Mapping[str, Tensor]]) -> None:
        names = [name for name, layer in module.named_children() if isinstance(layer, nn.Linear)]
        layers = dict(module.named_children())
        first = list(layers).index(names[0])
        self.front = module[:first]  # the operations before any weights
        self.count = len(weights)
        self.layers: list[tuple[Tensor, Tensor] | None] = []  # None is a ReLU
        for name, layer in list(layers.items())[first:]:
            if isinstance(layer, nn.Linear):
                weight = torch.stack([drawn[f"{name}.weight"] for drawn in weights])
                bias = weight.new_zeros(self.count, layer.out_features)
                if layer.bias is not None:
                    bias = torch.stack([drawn[f"{name}.bias"] for drawn in weights])
                self.layers.append((weight, bias))  # (networks, out, in), (networks, out)
            else:
                self.layers.append(None)

    @classmethod
    def fits(cls, module: nn.Module) -> bool:
        """Whether the module is a sequence that ends in dense layers and ReLUs only."""
        if not isinstance(module, nn.Sequential):
            return False
        kinds = [type(layer) for layer in module]
        if nn.Linear not in kinds:
            return False
        first = kinds.index(nn.Linear)
        return not list(module[:first].parameters()) and set(kinds[first:]) <= {nn.Linear, nn.ReLU}

    def __call__(self, inputs: Tensor) -> Tensor:
        shared = self.front(inputs)  # (batch, in)
        first, *rest = self.layers
        assert first is not None
        weight, bias = first
        stacked = functional.linear(shared, weight.flatten(0, 1), bias.flatten())
        # A view: the next product reads each network's rows in place.
        x = stacked.view(len(shared), self.count, -1).transpose(0, 1)
        for layer in rest:
            if layer is None:
                x = x.relu_()  # in place: this memory is ours
            else:
                weight, bias = layer
                x = torch.baddbmm(bias[:, None], x, weight.mT)
        return x


class Separate(Ensemble):
    """Any other module, one network after the other.

    Convolutions are not grouped. On one core, grouping the convolutions of 20 LeNet-5s took 1.4
    times as long, for batches of 100 and 250. Grouping those of the recipe lenet-small took 0.75,
    1.07 and 1.13 times as long for batches of 100, 250 and 500. There `torch.func.vmap`, which
    groups them without channels last, was slower than grouping by hand.
    """

    batch = 500

    def __init__(self, module: nn.Module, weights: Sequence[Mapping[str, Tensor]]) -> None:
        self.module = module
        self.weights = [{name: fast(value) for name, value in w.items()} for w in weights]

    def __call__(self, inputs: Tensor) -> Tensor:
        outputs = [functional_call(self.module, drawn, (inputs,)) for drawn in self.weights]
        return torch.stack(outputs)


def fast(weight: Tensor) -> Tensor:
    """Kernels with channels last, so that later layers have them too: pooling is far faster then.

    `contiguous` would not do: it leaves a kernel with a single channel unchanged.
    """
    return weight.clone(memory_format=torch.channels_last) if weight.dim() == 4 else weight


def ensemble(module: nn.Module, weights: Sequence[Mapping[str, Tensor]]) -> Ensemble:
    """The networks of the plain module, one for each of these state dicts."""
    if Dense.fits(module):
        assert isinstance(module, nn.Sequential)
        return Dense(module, weights)
    return Separate(module, weights)
