"""The interface of every agent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.settings import LOOP, AgentSettings
from pacbound.experiments.bandit.stream import State, Stream
from pacbound.seeds import derive

__all__ = ["Agent", "Arms", "Contexts", "Rewards"]

Contexts: TypeAlias = NDArray[np.float32]  # (n, size)
Arms: TypeAlias = NDArray[np.int64]  # (n,)
Rewards: TypeAlias = NDArray[np.float32]  # (n,)


class Agent(ABC):
    """Chooses arms and learns from the rewards.

    Its whole state consists of the observations it `remember`s, which the play loop can replay, and
    of what `state` returns.

    Arguments:
        size: The length of a context.
        arms: The number of arms.
        settings: Hyper-parameters.
        seed: A derived seed that determines all randomness of the agent.
    """

    reads: ClassVar[frozenset[str]] = LOOP  # the settings that matter to it

    def __init__(self, size: int, arms: int, settings: AgentSettings, seed: str) -> None:
        self.size = size
        self.arms = arms
        self.settings = settings
        self.stream = Stream(derive("agent", seed))

    @property
    def block(self) -> int:
        """The number of contexts that may be chosen at once between observations."""
        return self.settings.train_every

    @abstractmethod
    def choose(self, contexts: Contexts) -> Arms:
        """An arm for every context, each from an independent draw of the uncertain quantities."""

    def remember(  # noqa: B027 - an agent that never looks back has nothing to keep
        self, contexts: Contexts, arms: Arms, rewards: Rewards
    ) -> None:
        """Store observations for later trainings, without learning from them now."""

    def observe(self, contexts: Contexts, arms: Arms, rewards: Rewards) -> None:
        """Observe the rewards of the pulled arms."""
        self.remember(contexts, arms, rewards)

    def observe_logged(
        self, contexts: Contexts, arms: Arms, rewards: Rewards, propensities: NDArray[np.float64]
    ) -> None:
        """Observe what another policy did, which pulled these arms with these probabilities."""
        self.observe(contexts, arms, rewards)

    def train(self) -> None:  # noqa: B027 - not every agent has a network
        """Learn from all stored observations; called every `train_every` contexts."""

    def state(self) -> State:
        """The arrays, besides the observations, that a run needs to continue exactly."""
        return self.stream.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state, after the observations so far have been remembered."""
        self.stream.restore(state)
