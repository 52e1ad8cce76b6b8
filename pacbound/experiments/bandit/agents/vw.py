"""Vowpal Wabbit: the contextual bandit of an online regression library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import MissingDependency
from pacbound.experiments.bandit.agents.base import Agent, Arms, Contexts, Rewards
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.settings import SCALES, AgentSettings
from pacbound.experiments.bandit.stream import State, prefixed, under

__all__ = ["VowpalWabbit"]

# Linear regression of every arm's cost, with SquareCB: D. Foster and A. Rakhlin, "Beyond UCB:
# optimal and efficient contextual bandits with regression oracles" (2020).
OPTIONS = "--cb_explore_adf --squarecb --quadratic ca --quiet"


class VowpalWabbit(Agent):
    """It learns from every observation once, so its state is what it observed: with the
    probability of the choice, and the reward as it was scaled then.
    """

    reads = SCALES  # it learns at once, so it has no trainings

    def __init__(self, size: int, arms: int, settings: AgentSettings, seed: str) -> None:
        super().__init__(size, arms, settings, seed)
        try:
            from vowpalwabbit import Workspace
        except ImportError as error:
            raise MissingDependency(
                "the agent vw needs vowpalwabbit; install it with: pip install 'pacbound[vw]'"
            ) from error
        # It normalises its steps by the scale of every column, so contexts need no length.
        self.memory = Memory(size, replace(settings, context_length=0.0))
        self.workspace = Workspace(OPTIONS)
        self._probabilities: list[float] = []  # of the arms that were pulled, or will be next
        self._rewards: list[float] = []  # as they were learned

    @property
    def block(self) -> int:
        return 1

    def choose(self, contexts: Contexts) -> Arms:
        chances = np.array([self._chances(row) for row in self.memory.as_inputs(contexts)])
        draws = self.stream.generator.random((len(contexts), 1))
        arms: Arms = (draws > chances.cumsum(1)[:, :-1]).sum(1)
        del self._probabilities[self.memory.count :]
        self._probabilities += chances[np.arange(len(arms)), arms].tolist()
        return arms

    def remember(self, contexts: Contexts, arms: Arms, rewards: Rewards) -> None:
        self.memory.add(contexts, arms, rewards)

    def observe(self, contexts: Contexts, arms: Arms, rewards: Rewards) -> None:
        known = self.memory.count
        self.remember(contexts, arms, rewards)
        # The round robin counts as uniform choices.
        missing = self.memory.count - len(self._probabilities)
        self._probabilities += [1 / self.arms] * missing
        self.memory.settle()  # by all so far: large costs at the start would make it learn slowly
        self._rewards += self.memory.rewards[known:].tolist()
        self._learn(known)

    def observe_logged(
        self, contexts: Contexts, arms: Arms, rewards: Rewards, propensities: NDArray[np.float64]
    ) -> None:
        self._probabilities[self.memory.count :] = propensities.tolist()
        self.observe(contexts, arms, rewards)

    def _chances(self, inputs: NDArray[np.float32]) -> NDArray[np.float64]:
        """The probability of every arm."""
        found = np.array(self.workspace.predict(self._lines(inputs)), np.float64)
        normalized: NDArray[np.float64] = found / found.sum()
        return normalized

    def _learn(self, known: int) -> None:
        """Learn from the observations after the known ones."""
        for i, reward in enumerate(self._rewards[known:], known):
            lines = self._lines(self.memory.inputs[i])
            arm, chance = int(self.memory.arms[i]), self._probabilities[i]
            lines[1 + arm] = f"0:{-reward:.9g}:{chance:.9g} {lines[1 + arm]}"
            self.workspace.learn(lines)

    def _lines(self, inputs: NDArray[np.float32]) -> list[str]:
        """An example in the library's text format; it adds the constant itself."""
        context = " ".join(f"{i}:{value:.9g}" for i, value in enumerate(inputs[:-1]) if value)
        return [f"shared |c {context}", *(f"|a {arm}" for arm in range(self.arms))]

    def state(self) -> State:
        # An agent that remembers but has not learned yet has arrays of the same length.
        chances, rewards = np.full(self.memory.count, 1 / self.arms), np.zeros(self.memory.count)
        chances[: len(self._probabilities)] = self._probabilities[: self.memory.count]
        rewards[: len(self._rewards)] = self._rewards
        return {
            **prefixed("agent", super().state()),
            **prefixed("memory", self.memory.state()),
            "probabilities": chances,
            "rewards": rewards,
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().restore(under("agent", state))
        chances = state["probabilities"]
        if len(chances) != self.memory.count or not ((chances > 0) & (chances <= 1)).all():
            raise ValueError("it has no probabilities of its pulls")
        self.memory.restore(under("memory", state))
        self._probabilities = chances.tolist()
        self._rewards = state["rewards"].tolist()
        self._learn(0)
