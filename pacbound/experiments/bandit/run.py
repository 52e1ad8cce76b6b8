"""Run: the pulled arms of an agent on a problem, and their regret."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.settings import AgentSettings

__all__ = ["Run", "best_fixed_arm"]


@dataclass(frozen=True, eq=False)
class Run:
    """One agent's run on one problem."""

    problem: str
    agent: str
    settings: AgentSettings
    seed: int
    arms: NDArray[np.int64]  # (T,): the pulled arms
    rewards: NDArray[np.float32]  # (T,): their rewards
    regret: NDArray[np.float64]  # (T,): the optimum minus the reward, cumulative
    normalized: NDArray[np.float64]  # (T,): in per cent of the uniform policy's at the end

    @classmethod
    def of(
        cls,
        problem: Problem,
        agent: str,
        settings: AgentSettings,
        seed: int,
        arms: NDArray[np.int64],
    ) -> Run:
        """The run with these pulled arms."""
        rewards = problem.rewards[np.arange(problem.steps), arms]
        regret = np.cumsum(problem.optimal - rewards)
        normalized = np.asarray(problem.normalized(regret), dtype=np.float64)
        return cls(problem.name, agent, settings, seed, arms, rewards, regret, normalized)


def best_fixed_arm(problem: Problem) -> int:
    """The arm with the largest total reward if it had been pulled at every step."""
    return int(problem.rewards.sum(0, dtype=np.float64).argmax())
