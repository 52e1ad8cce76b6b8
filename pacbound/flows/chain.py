"""Chain: flows one after another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor, nn

from pacbound.flows.base import Flow
from pacbound.flows.lipschitz import Norm, T, composition

__all__ = ["Chain"]


class Chain(Flow):
    """The composition of flows, the first applied first; without flows, the identity.

    Arguments:
        size: n.
        steps: Flows of this size.

    Example:
        >>> Chain(1, [])(torch.tensor([2.0])).tolist()
        [2.0]
    """

    def __init__(self, size: int, steps: Iterable[Flow]) -> None:
        super().__init__(size)
        self.steps = nn.ModuleList(steps)
        for i, step in enumerate(self.flows()):
            if step.size != size:
                raise ValueError(f"step {i} of a flow of size {size} has size {step.size}")

    def flows(self) -> list[Flow]:
        """The steps, as flows."""
        return [cast(Flow, step) for step in self.steps]

    def forward(self, x: Tensor) -> Tensor:
        for step in self.flows():
            x = step(x)
        return x

    def inverse(self, y: Tensor) -> Tensor:
        for step in reversed(self.flows()):
            y = step.inverse(y)
        return y

    def lipschitz(self, norm: Norm[T]) -> T:
        constants: list[T] = [norm(torch.ones(1, 1))]  # 1, in the arithmetic of `norm`
        constants += [step.lipschitz(norm) for step in self.flows()]
        return composition(constants)
