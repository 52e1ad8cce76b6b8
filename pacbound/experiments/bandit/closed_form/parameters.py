"""The parameters of a module in one flat array, with their gradients in another."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

__all__ = ["FlatParameters"]


class FlatParameters:
    """Moves a module's parameters into one block of memory.

    The module keeps working: its tensors become views of the block, and so do the arrays that `of`
    returns. An optimiser then handles one vector instead of many tensors.
    """

    def __init__(self, module: nn.Module) -> None:
        parameters = dict(module.named_parameters())
        size = sum(parameter.numel() for parameter in parameters.values())
        block = torch.empty(size)
        self.values: NDArray[np.float32] = block.numpy()
        self.gradient: NDArray[np.float32] = np.zeros(size, np.float32)
        self._places: dict[nn.Parameter, slice] = {}
        first = 0
        for parameter in parameters.values():
            place = slice(first, first + parameter.numel())
            block[place] = parameter.detach().reshape(-1)
            parameter.data = block[place].view(parameter.shape)
            self._places[parameter] = place
            first = place.stop

    def of(self, parameter: nn.Parameter) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The values of one parameter and their gradient, in its shape; both are views."""
        place, shape = self._places[parameter], tuple(parameter.shape)
        return self.values[place].reshape(shape), self.gradient[place].reshape(shape)
