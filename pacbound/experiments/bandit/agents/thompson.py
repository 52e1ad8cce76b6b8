"""Thompson sampling with a posterior over the weights of a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.agents.base import Agent, Arms, Contexts, Rewards
from pacbound.experiments.bandit.floor import Floor
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.network import RewardNetwork
from pacbound.experiments.bandit.settings import LOOP, NOISE, PRIOR, SCALES, TRAINING, AgentSettings
from pacbound.experiments.bandit.stream import State, prefixed, under

__all__ = ["DiagThompson", "KDiagThompson", "KLinearThompson", "KNonlinearThompson", "Thompson"]


class Thompson(Agent):
    """For every context a network is drawn, and its preferred arm is pulled.

    The posterior is fixed between trainings, so a block of contexts is chosen in one product.
    """

    reads = LOOP | SCALES | TRAINING | NOISE | PRIOR | {"initial_scale", "floor"}
    posterior: ClassVar[str]
    has_floor: ClassVar[bool] = True  # whether the setting of that name applies

    def __init__(self, size: int, arms: int, settings: AgentSettings, seed: str) -> None:
        super().__init__(size, arms, settings, seed)
        self.memory = Memory(size, settings)
        self.network = self.make_network(size, arms, settings, seed)
        floored = settings.floor > 0 and self.has_floor
        self.floor = Floor(size + 1, arms, settings) if floored else None

    def make_network(
        self, size: int, arms: int, settings: AgentSettings, seed: str
    ) -> RewardNetwork:
        """The network with its posterior."""
        return RewardNetwork(size, arms, self.posterior, settings, seed)

    def choose(self, contexts: Contexts) -> Arms:
        inputs = self.memory.as_inputs(contexts)
        rewards = self.network.predict(inputs)
        if self.floor is not None:
            rewards += self.floor.draw(inputs, self.network.stream).astype(np.float32)
        best: Arms = np.argmax(rewards, axis=1)
        return best

    def remember(self, contexts: Contexts, arms: Arms, rewards: Rewards) -> None:
        self.memory.add(contexts, arms, rewards)

    def train(self) -> None:
        self.network.train(self.memory)
        if self.floor is not None:
            self.floor.update(self.memory, self.network)

    def state(self) -> State:
        floor = {} if self.floor is None else prefixed("floor", self.floor.state())
        return {**prefixed("memory", self.memory.state()), **self.network.state(), **floor}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.memory.restore(under("memory", state))
        self.network.restore(state)
        if self.floor is not None:
            self.floor.restore(under("floor", state))


class DiagThompson(Thompson):
    posterior = "diag"


class KDiagThompson(Thompson):
    posterior = "k-diag"


class KLinearThompson(Thompson):
    posterior = "k-linear"


class KNonlinearThompson(Thompson):
    reads = Thompson.reads | {"flow_hidden", "flow_steps", "weight_draws"}
    posterior = "k-nonlinear"
