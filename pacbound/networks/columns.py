"""The scaling of a table's columns, as the first layer of a network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pacbound.networks.started import Started

__all__ = ["ColumnScaling"]


class ColumnScaling(Started):
    """arcsinh((x − center) / scale), column by column; outliers grow only with their logarithm.

    Center and scale are constants of a learned prior: they are buffers, no posterior draws them.

    Arguments:
        input_shape: The shape of one input; each of its entries is a column.
    """

    center: Tensor
    scale: Tensor

    def __init__(self, input_shape: Sequence[int]) -> None:
        super().__init__()
        self.register_buffer("center", torch.zeros(*input_shape))
        self.register_buffer("scale", torch.ones(*input_shape))

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.asinh((inputs - self.center) / self.scale)

    @torch.no_grad()
    def start(self, examples: Tensor) -> None:
        """Take means and standard deviations of examples.

        The scale of a constant column is 1.
        """
        examples = examples.double()
        deviation = examples.std(0, correction=0)
        constant = deviation <= 1e-7 * examples.abs().amax(0)  # only rounding is left
        self.center.copy_(examples.mean(0))
        self.scale.copy_(torch.where(constant, 1.0, deviation))
