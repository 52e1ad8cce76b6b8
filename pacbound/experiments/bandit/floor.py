"""A floor of the uncertainty about rewards, with the leverages of a linear regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.network import RewardNetwork
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.bandit.stream import State, Stream

__all__ = ["Floor"]

ROWS = 512  # on which residuals are measured


class Floor:
    """Noise for the drawn rewards of arms that were not pulled in such contexts.

    A network that never saw a kind of context may be certain of it, because a variational posterior
    only counts what the data say about its weights. It then never pulls the arm, and never learns
    better: M. Phan, Y. Abbasi-Yadkori and J. Domke, "Thompson sampling with approximate inference"
    (2019). A linear regression on the same pulls cannot be: the deviation of its prediction is
    s√h with the leverage h = xᵀP⁻¹x, P = ‖x‖²I + Σ xxᵀ over the pulls of the arm. So a context
    whose leverage is more than twice the mean of the pulls gets noise of that deviation, s being
    the deviation of the network's errors for the arm. D. Hoaglin and R. Welsch, "The hat matrix in
    regression and ANOVA" (1978), take twice the mean for the limit of what is usual. All arms of a
    context share one normal number, so that only differences in what is known about them count.

    Arguments:
        size: The length of x.
        arms: The number of arms.
        settings: The factor of the noise, and the prior of the errors.
    """

    def __init__(self, size: int, arms: int, settings: AgentSettings) -> None:
        self.settings = settings
        self.gram = np.zeros((arms, size, size))  # Σ xxᵀ
        self.inverse = np.zeros((arms, size, size))  # P⁻¹
        self.usual = np.zeros(arms)  # twice the mean leverage of the pulls
        self.variance = np.zeros(arms)  # s², times the squared factor
        self.counts = np.zeros(arms)
        self.total = np.zeros(1)  # Σ ‖x‖²

    def update(self, memory: Memory, network: RewardNetwork) -> None:
        """Take in what was observed since the last call."""
        known = int(self.counts.sum())
        for arm in range(len(self.gram)):
            x = memory.inputs[known:][memory.arms[known:] == arm].astype(np.float64)
            self.gram[arm] += x.T @ x
            self.counts[arm] += len(x)
            self.total += (x**2).sum()
        prior = self.total / memory.count * np.eye(self.gram.shape[1])
        inverse = np.linalg.inv(self.gram + prior)
        self.inverse[:] = (inverse + inverse.transpose(0, 2, 1)) / 2
        leverages = (self.inverse * self.gram).sum((1, 2))  # of all pulls
        self.usual[:] = 2 * leverages / np.maximum(self.counts, 1)
        self.variance[:] = self.settings.floor**2 * self._errors(memory, network)

    def _errors(self, memory: Memory, network: RewardNetwork) -> NDArray[np.float64]:
        """s² of every arm: the mean squared error of drawn networks, on some of the pulls."""
        rows = network.stream.generator.integers(memory.count, size=ROWS)
        arms = memory.arms[rows]
        drawn = network.predict(memory.inputs[rows])[np.arange(ROWS), arms]
        squares = np.square(drawn - memory.rewards[rows])
        seen = np.bincount(arms, minlength=len(self.counts))
        mean = np.bincount(arms, squares, len(self.counts)) / np.maximum(seen, 1)
        before = 2 * self.settings.gamma_shape
        counts = np.where(seen > 0, self.counts, 0)
        errors: NDArray[np.float64] = (before * network.noise**2 + counts * mean) / (
            before + counts
        )
        return errors

    def draw(self, inputs: NDArray[np.float32], stream: Stream) -> NDArray[np.float64]:
        """The noise for every row and arm, (n, arms)."""
        x = inputs.astype(np.float64)
        leverage = (np.matmul(x, self.inverse) * x).sum(2).T
        variance = np.where(leverage > self.usual, self.variance * leverage, 0)
        noise: NDArray[np.float64] = stream.generator.standard_normal((len(x), 1))
        return noise * np.sqrt(variance)

    def state(self) -> State:
        """The sums, and what was made of them at the last training."""
        return {name: getattr(self, name) for name in _ARRAYS}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a saved state; ValueError if no observations can lead to it."""
        if any((state[name] < 0).any() for name in ("counts", "total", "variance")):
            raise ValueError("it has negative counts or squares")
        for name in _ARRAYS:
            getattr(self, name)[:] = state[name]


_ARRAYS = ("gram", "inverse", "usual", "variance", "counts", "total")
