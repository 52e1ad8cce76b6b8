"""Memory: all contexts, pulled arms and rewards so far, stored for minibatches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.bandit.stream import State

__all__ = ["Memory"]


class Memory:
    """Observations in arrays that grow by doubling; contexts have a last column of ones.

    Arguments:
        size: The length of a context.
        settings: The scales of contexts and rewards, and whether rewards are standardised.
    """

    def __init__(self, size: int, settings: AgentSettings) -> None:
        self.count = 0
        self.context_scale = np.float32(settings.context_scale)
        self._context_length = settings.context_length
        self._context_scale_known = not settings.context_length
        self.standardized = settings.standardize
        self.reward_scale = settings.reward_scale
        self.center, self.scale = np.float32(0), np.float32(self.reward_scale)
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
        self.count = last

    def settle(self) -> None:
        """Scale by what was observed so far; so are new observations until the next call.

        Rewards are standardised anew by each call. All arms have the same centre and scale, so the
        best arm stays the best. Contexts are scaled to their mean length by the first call.
        """
        if self.standardized:
            seen = self._rewards[: self.count]
            self.center = seen.mean(dtype=np.float64).astype(np.float32)
            self.scale = np.float32(self.reward_scale * (seen.std(dtype=np.float64) or 1))
        if self._context_length and not self._context_scale_known:
            lengths = np.linalg.norm(self.inputs[:, :-1].astype(np.float64), axis=1)
            self._divide_contexts(np.float32((lengths.mean() or 1) / self._context_length))

    def _divide_contexts(self, scale: np.float32) -> None:
        """From now on. The stored contexts were not divided yet, and become what they would be."""
        self._inputs[: self.count, :-1] /= scale
        self.context_scale, self._context_scale_known = scale, True

    def as_inputs(self, contexts: NDArray[np.float32]) -> NDArray[np.float32]:
        """Contexts as a network sees them: scaled, with a 1 for the bias."""
        inputs = np.ones((len(contexts), self._inputs.shape[1]), np.float32)
        np.divide(contexts, self.context_scale, out=inputs[:, :-1])
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
        scaled: NDArray[np.float32] = (self._rewards[: self.count] - self.center) / self.scale
        return scaled

    def state(self) -> State:
        """Centre and scale of the rewards, and the scale of contexts: what was settled last."""
        return {
            "standard": np.array([self.center, self.scale]),
            "contexts": np.array([self.context_scale, self._context_scale_known]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a saved state; ValueError if no observations can lead to it."""
        center, scale = state["standard"]
        context_scale, known = state["contexts"]
        if not (scale > 0 and context_scale > 0):
            raise ValueError("its rewards or contexts have no scale")
        if not self.standardized and (center, scale) != (self.center, self.scale):
            raise ValueError("its rewards have another scale")
        self.center, self.scale = center, scale
        if known and not self._context_scale_known:
            self._divide_contexts(context_scale)
        elif (context_scale, known) != (self.context_scale, self._context_scale_known):
            raise ValueError("its contexts have another scale")


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    larger = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
