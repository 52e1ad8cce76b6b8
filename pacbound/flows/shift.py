"""Shift networks: what a flow adds to some coordinates as a function of others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from pacbound.errors import BadInput
from pacbound.flows.lipschitz import Norm, T, composition
from pacbound.seeds import Noise, derive

__all__ = ["Shift"]


class Shift(nn.Module):
    """A dense network with tanh between its layers, zero at the start, with masked weights.

    There is no bias in the last layer: a constant shift of the noise is one of the posterior's
    mean. tanh has slopes in (0, 1], so the product of the layers' spectral norms is a Lipschitz
    constant, and biases do not enter it.

    Arguments:
        sizes: The number of inputs, of units in each hidden layer, of outputs.
        seed: What the hidden weights are drawn from.
        masks: For each layer the weights that may differ from zero; all by default.

    Example:
        >>> Shift([2, 16, 3], seed="0")(torch.ones(5, 2)).abs().max().item()
        0.0
    """

    def __init__(
        self, sizes: Sequence[int], seed: str, masks: Sequence[Tensor] | None = None
    ) -> None:
        super().__init__()
        if min(sizes) < 1:
            raise BadInput(f"the layers of a flow need 1 unit or more, not {min(sizes)}")
        noise = Noise(derive("shift network", seed))
        hidden = [noise.normal(m, n) / n**0.5 for n, m in pairwise(sizes[:-1])]
        last = torch.zeros(sizes[-1], sizes[-2])
        self.weights = nn.ParameterList([*hidden, last])
        self.biases = nn.ParameterList(torch.zeros(m) for m in sizes[1:-1])
        self.masked = masks is not None
        for i, mask in enumerate(masks or ()):
            # Masks follow from the settings: a saved state has nothing to say about them.
            self.register_buffer(f"forbidden_{i}", ~mask, persistent=False)

    def weight(self, layer: int) -> Tensor:
        """The weight of a layer as it is used: masked entries are zero whatever they hold."""
        weight: Tensor = self.weights[layer]
        if not self.masked:
            return weight
        return weight.masked_fill(self.get_buffer(f"forbidden_{layer}"), 0)

    def forward(self, x: Tensor) -> Tensor:
        for i, bias in enumerate(self.biases):
            x = linear(x, self.weight(i), bias).tanh()
        return linear(x, self.weight(len(self.biases)))

    def lipschitz(self, norm: Norm[T]) -> T:
        """The product of the spectral norms of the weights as they are used."""
        return composition([norm(self.weight(i)) for i in range(len(self.weights))])
