"""Thompson sampling with a posterior over the weights of a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.agents.base import Agent, Arms, Contexts, Rewards
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.network import RewardNetwork
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.bandit.stream import State

__all__ = ["DiagThompson", "KDiagThompson", "KLinearThompson", "KNonlinearThompson", "Thompson"]


class Thompson(Agent):
    """For every context a network is drawn, and its preferred arm is pulled.

    The posterior is fixed between trainings, so a block of contexts is chosen in one product.
    """

    posterior: ClassVar[str]

    def __init__(self, size: int, arms: int, settings: AgentSettings, seed: str) -> None:
        super().__init__(size, arms, settings, seed)
        self.memory = Memory(size, settings.context_scale, settings.reward_scale)
        self.network = RewardNetwork(size, arms, self.posterior, settings, seed)

    def choose(self, contexts: Contexts) -> Arms:
        inputs = self.memory.as_inputs(contexts)
        best: Arms = np.argmax(self.network.predict(inputs), axis=1)
        return best

    def remember(self, contexts: Contexts, arms: Arms, rewards: Rewards) -> None:
        self.memory.add(contexts, arms, rewards)

    def train(self) -> None:
        self.network.train(self.memory)

    def state(self) -> State:
        return self.network.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.network.restore(state)


class DiagThompson(Thompson):
    posterior = "diag"


class KDiagThompson(Thompson):
    posterior = "k-diag"


class KLinearThompson(Thompson):
    posterior = "k-linear"


class KNonlinearThompson(Thompson):
    posterior = "k-nonlinear"
