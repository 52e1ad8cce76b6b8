"""Autoregressive: every coordinate is shifted by a function of the previous ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from pacbound.flows import lipschitz
from pacbound.flows.base import Flow
from pacbound.flows.lipschitz import Norm, T
from pacbound.flows.shift import EVERY, Shift

__all__ = ["Autoregressive", "masks"]


class Autoregressive(Flow):
    """y_i = x_i + t_i(x_1 … x_{i−1}) with one masked network.

    D. P. Kingma et al., "Improved Variational Inference with Inverse Autoregressive Flow" (2016),
    with the shift only. The masks are those of M. Germain et al., "MADE" (2015).

    Arguments:
        size: The number of coordinates, 2 or more.
        hidden: The sizes of the network's hidden layers; none for a linear shift.
        seed: The seed of its hidden weights.
        reverse: Let "previous" mean a higher index. The order of the coordinates stays, so
            steps of alternating direction still start as the identity.
        unit: The scale of coordinates at which the shift bends.

    Example:
        >>> Autoregressive(3, [8], seed="0")(torch.tensor([1.0, 2.0, 3.0])).tolist()
        [1.0, 2.0, 3.0]
    """

    def __init__(
        self,
        size: int,
        hidden: Sequence[int],
        seed: str,
        reverse: bool = False,
        unit: float = 1.0,
    ) -> None:
        super().__init__(size)
        self.shift = Shift([size, *hidden, size], seed, masks(size, hidden, reverse), unit)

    def forward(self, x: Tensor) -> Tensor:
        return self.shift.added(x, EVERY, EVERY)

    def inverse(self, y: Tensor) -> Tensor:
        # After k rounds of x ← y − t(x), the first k coordinates are final.
        x = y
        for _ in range(self.size):
            previous, x = x, y - self.shift(x)
            if torch.equal(x, previous):
                break
        return x

    def lipschitz(self, norm: Norm[T]) -> T:
        return lipschitz.autoregressive(self.shift.lipschitz(norm))


def masks(size: int, hidden: Sequence[int], reverse: bool) -> list[Tensor]:
    """For each layer, the weights that may differ from zero; (outputs, inputs).

    A unit of degree d sees the first d coordinates. Hidden degrees are spread evenly over
    1 … size − 1. Output i may see i − 1 coordinates and has degree i − 1.

    Example:
        >>> masks(3, [2], reverse=False)[1].int().tolist()
        [[0, 0], [1, 0], [1, 1]]
    """
    inputs = torch.arange(1, size + 1)
    if reverse:
        inputs = inputs.flip(0)
    within = [1 + (2 * torch.arange(n) + 1) * (size - 1) // (2 * n) for n in hidden]
    degrees = [inputs, *within, inputs - 1]
    return [after[:, None] >= before for before, after in pairwise(degrees)]
