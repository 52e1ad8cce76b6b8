"""Coupling: half of the coordinates are shifted by a function of the other half."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from pacbound.flows import lipschitz
from pacbound.flows.base import Flow
from pacbound.flows.lipschitz import Norm, T
from pacbound.flows.shift import Shift

__all__ = ["Coupling"]


class Coupling(Flow):
    """Every second coordinate is shifted by a network of the others, which do not change.

    L. Dinh, J. Sohl-Dickstein and S. Bengio, "Density estimation using Real NVP" (2017), with
    the shift only. Neighbours, which have similar weights, fall into different halves.

    Arguments:
        size: The number of coordinates, 2 or more.
        hidden: The sizes of the network's hidden layers.
        seed: The seed of its hidden weights.
        reverse: Shift the coordinates 0, 2, … instead of 1, 3, …
        unit: The scale of coordinates at which the shift bends.

    Example:
        >>> import torch
        >>> Coupling(3, [8], seed="0")(torch.tensor([1.0, 2.0, 3.0])).tolist()
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
        self.moved = 0 if reverse else 1  # the first shifted coordinate
        moving = len(range(self.moved, size, 2))
        self.shift = Shift([size - moving, *hidden, moving], seed, unit=unit)

    def forward(self, x: Tensor) -> Tensor:
        return self.shift.added(x, self._moved, self._kept)

    def inverse(self, y: Tensor) -> Tensor:
        x = y.clone()
        x[..., self._moved] -= self.shift(y[..., self._kept])
        return x

    def lipschitz(self, norm: Norm[T]) -> T:
        return lipschitz.coupling(self.shift.lipschitz(norm))

    @property
    def _moved(self) -> slice:
        return slice(self.moved, None, 2)

    @property
    def _kept(self) -> slice:
        return slice(1 - self.moved, None, 2)
