"""Polyak averaging: an exponential moving average of the parameters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from pacbound.training.saved_state import fitting

__all__ = ["PolyakAverage"]


class PolyakAverage:
    """The average of a module's parameters over the steps, with exponential decay.

    The first steps are averaged evenly, so that the initial values do not persist.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.decay = decay
        self.steps = 0
        self.parameters: list[Tensor] = list(module.parameters())
        self.average = [parameter.detach().clone() for parameter in self.parameters]

    @torch.no_grad()
    def update(self) -> None:
        """Add the current parameters to the average."""
        self.steps += 1
        keep = min(self.decay, 1 - 1 / self.steps)
        torch._foreach_lerp_(self.average, self.parameters, 1 - keep)

    @torch.no_grad()
    def swap(self) -> None:
        """Swap the parameters with the average."""
        for parameter, average in zip(self.parameters, self.average, strict=True):
            present = parameter.clone()
            parameter.copy_(average)
            average.copy_(present)

    def state(self) -> dict[str, object]:
        """The state for `restore`."""
        return {"steps": self.steps, "average": self.average}

    def restore(self, saved: Any) -> None:
        """Continue from a saved state; ValueError if it does not fit."""
        steps, average = (
            (saved.get("steps"), saved.get("average")) if isinstance(saved, dict) else (0, None)
        )
        if type(steps) is not int or steps < 0 or not isinstance(average, list):
            raise ValueError("its average has no steps or no tensors")
        if len(average) != len(self.average):
            raise ValueError("its average is of other parameters")
        self.steps = steps
        self.average = [
            fitting("the average", its, mine)
            for its, mine in zip(average, self.average, strict=True)
        ]
