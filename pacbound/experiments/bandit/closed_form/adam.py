"""Adam on one flat vector, in place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.stream import State

__all__ = ["Adam"]

FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """D. Kingma and J. Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1."""

    def __init__(self, size: int) -> None:
        self.steps = 0
        self.mean = np.zeros(size, np.float32)
        self.square = np.zeros(size, np.float32)
        self._scratch = np.empty(size, np.float32)

    def reset(self) -> None:
        """Reset all moving averages."""
        self.steps = 0
        self.mean[:] = 0
        self.square[:] = 0

    def step(
        self, values: NDArray[np.float32], gradient: NDArray[np.float32], learning_rate: float
    ) -> None:
        """Update the values; the gradient is overwritten as working memory."""
        self.steps += 1
        scratch = self._scratch
        np.square(gradient, out=scratch)
        scratch *= 1 - SECOND
        self.square *= SECOND
        self.square += scratch
        gradient *= 1 - FIRST
        self.mean *= FIRST
        self.mean += gradient
        # Both bias corrections are folded into two numbers, which saves passes over memory.
        correction = math.sqrt(1 - SECOND**self.steps)
        np.sqrt(self.square, out=scratch)
        scratch += EPSILON * correction
        np.divide(self.mean, scratch, out=scratch)
        scratch *= learning_rate * correction / (1 - FIRST**self.steps)
        values -= scratch

    def state(self) -> State:
        """The number of steps and both moving averages."""
        return {"steps": np.array(self.steps), "mean": self.mean, "square": self.square}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a saved state; ValueError if no gradients can lead to it."""
        if state["steps"] < 0 or (state["square"] < 0).any():
            raise ValueError("it has a negative step or square")
        self.steps = int(state["steps"])
        self.mean[:] = state["mean"]
        self.square[:] = state["square"]
