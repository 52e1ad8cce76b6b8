"""Memory: all contexts, pulled arms and rewards so far, stored for minibatches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Memory"]


class Memory:
    """Observations in arrays that grow by doubling; contexts have a last column of ones.

    Arguments:
        size: The length of a context.
        context_scale: The divisor of contexts.
        reward_scale: The divisor of rewards.
    """

    def __init__(self, size: int, context_scale: float = 1.0, reward_scale: float = 1.0) -> None:
        self.count = 0
        self.context_scale = context_scale
        self.reward_scale = reward_scale
        self._inputs = np.empty((1024, size + 1), np.float32)
        self._arms = np.empty(1024, np.int64)
        self._rewards = np.empty(1024, np.float32)

    def add(
        self, contexts: NDArray[np.float32], arms: NDArray[np.int64], rewards: NDArray[np.float32]
    ) -> None:
        """Store observations, in their order."""
        first, last = self.count, self.count + len(arms)
        while last > len(self._arms):
            self._inputs = _doubled(self._inputs)
            self._arms = _doubled(self._arms)
            self._rewards = _doubled(self._rewards)
        self._inputs[first:last] = self.as_inputs(contexts)
        self._arms[first:last] = arms
        self._rewards[first:last] = rewards
        self._rewards[first:last] /= np.float32(self.reward_scale)
        self.count = last

    def as_inputs(self, contexts: NDArray[np.float32]) -> NDArray[np.float32]:
        """Contexts as a network sees them: scaled, with a 1 for the bias."""
        inputs = np.ones((len(contexts), self._inputs.shape[1]), np.float32)
        np.divide(contexts, np.float32(self.context_scale), out=inputs[:, :-1])
        return inputs

    @property
    def inputs(self) -> NDArray[np.float32]:
        """(count, size + 1)"""
        return self._inputs[: self.count]

    @property
    def arms(self) -> NDArray[np.int64]:
        """(count,)"""
        return self._arms[: self.count]

    @property
    def rewards(self) -> NDArray[np.float32]:
        """(count,), scaled"""
        return self._rewards[: self.count]


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    larger = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
