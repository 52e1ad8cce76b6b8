"""A contextual bandit problem: a stream of contexts, and the reward of every arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import DataError

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False)
class Problem:
    """One stream of a problem. A seed determines it, so all agents can play the same one."""

    name: str
    contexts: NDArray[np.float32]  # (T, d)
    rewards: NDArray[np.float32]  # (T, arms): the reward of each arm at each step
    optimal: NDArray[np.float64]  # (T,): the reward that regret is measured against

    def __post_init__(self) -> None:
        steps = len(self.contexts)
        shapes = (self.contexts.ndim, self.rewards.ndim, self.optimal.ndim)
        if shapes != (2, 2, 1) or not steps == len(self.rewards) == len(self.optimal):
            raise DataError(
                f"{self.name}: contexts must be (steps, size), rewards (steps, arms) and optimal "
                f"(steps,), not {self.contexts.shape}, {self.rewards.shape}, {self.optimal.shape}"
            )
        if self.arms < 2 or not steps:
            raise DataError(f"{self.name}: a bandit needs at least two arms and one step")
        for name in ("contexts", "rewards", "optimal"):
            if not np.isfinite(getattr(self, name)).all():
                raise DataError(f"{self.name}: {name} are not all finite")

    @property
    def steps(self) -> int:
        """T: the horizon."""
        return len(self.contexts)

    @property
    def arms(self) -> int:
        """The number of arms."""
        return int(self.rewards.shape[1])

    def uniform_regret(self) -> float:
        """The expected regret of choosing arms at random: the unit of regret."""
        return float(self.optimal.sum() - self.rewards.mean(1, dtype=np.float64).sum())

    def normalized(self, regret: NDArray[np.float64] | float) -> NDArray[np.float64] | float:
        """A regret in per cent of the uniform policy's over the whole stream."""
        return 100 * regret / self.uniform_regret()
