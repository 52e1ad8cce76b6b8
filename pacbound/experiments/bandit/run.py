"""Run: what an agent did on a problem, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.settings import AgentSettings

__all__ = ["Run", "best_fixed_arm"]


@dataclass(frozen=True, eq=False)
class Run:
    """One agent's way through one problem."""

    problem: str
    agent: str
    settings: AgentSettings
    seed: int
    arms: NDArray[np.int64]  # (T,): what was pulled
    rewards: NDArray[np.float32]  # (T,): what it paid
    regret: NDArray[np.float64]  # (T,): the optimum less the reward, summed so far
    normalized: NDArray[np.float64]  # (T,): that in per cent of the uniform policy's at the end

    @classmethod
    def of(
        cls,
        problem: Problem,
        agent: str,
        settings: AgentSettings,
        seed: int,
        arms: NDArray[np.int64],
    ) -> Run:
        """The run that pulled these arms."""
        rewards = problem.rewards[np.arange(problem.steps), arms]
        regret = np.cumsum(problem.optimal - rewards)
        normalized = np.asarray(problem.normalized(regret), dtype=np.float64)
        return cls(problem.name, agent, settings, seed, arms, rewards, regret, normalized)


def best_fixed_arm(problem: Problem) -> int:
    """The arm that would have paid most had it been pulled at every step."""
    return int(problem.rewards.sum(0, dtype=np.float64).argmax())
