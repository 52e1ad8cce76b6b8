"""Polyak averaging: an exponential moving average of the parameters."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["PolyakAverage"]


class PolyakAverage:
    """The average of a module's parameters over the steps, with exponential decay.

    The first steps are averaged evenly, so that the start does not linger.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.decay = decay
        self.steps = 0
        self.parameters: list[Tensor] = list(module.parameters())
        self.average = [parameter.detach().clone() for parameter in self.parameters]

    @torch.no_grad()
    def update(self) -> None:
        """Take the parameters' present values into the average."""
        self.steps += 1
        keep = min(self.decay, 1 - 1 / self.steps)
        torch._foreach_lerp_(self.average, self.parameters, 1 - keep)

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the parameters' values and the average's."""
        for parameter, average in zip(self.parameters, self.average, strict=True):
            present = parameter.clone()
            parameter.copy_(average)
            average.copy_(present)

    def state(self) -> dict[str, object]:
        """What `restore` needs."""
        return {"steps": self.steps, "average": self.average}

    def restore(self, steps: int, average: list[Tensor]) -> None:
        """Continue from a saved state."""
        self.steps = steps
        for mine, saved in zip(self.average, average, strict=True):
            mine.copy_(saved)
