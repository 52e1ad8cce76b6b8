"""Bootstrap: a small ensemble of networks, each trained on a part of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.agents.base import Agent, Arms, Contexts, Rewards
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.network import RewardNetwork
from pacbound.experiments.bandit.settings import LOOP, NOISE, PRIOR, SCALES, TRAINING, AgentSettings
from pacbound.experiments.bandit.stream import State, Stream, prefixed, under
from pacbound.seeds import derive

__all__ = ["Bootstrap"]


class Bootstrap(Agent):
    """For every context, a random member chooses the arm.

    I. Osband, C. Blundell, A. Pritzel and B. Van Roy, "Deep exploration via bootstrapped DQN"
    (2016): members start from different weights, and each sees an observation with a given
    probability.
    """

    reads = LOOP | SCALES | TRAINING | NOISE | PRIOR | {"members", "share"}

    def __init__(self, size: int, arms: int, settings: AgentSettings, seed: str) -> None:
        super().__init__(size, arms, settings, seed)
        # A separate stream: when observations are replayed, members keep the same ones.
        self._kept = Stream(derive("bootstrap", seed))
        self.memories = [Memory(size, settings) for _ in range(settings.members)]
        self.networks = [
            RewardNetwork(size, arms, "point", settings, derive("member", seed, i))
            for i in range(settings.members)
        ]

    def choose(self, contexts: Contexts) -> Arms:
        members = self.stream.generator.integers(len(self.networks), size=len(contexts))
        outputs = np.stack(
            [
                network.predict(memory.as_inputs(contexts))
                for network, memory in zip(self.networks, self.memories, strict=True)
            ]
        )
        best: Arms = np.argmax(outputs[members, np.arange(len(contexts))], axis=1)
        return best

    def remember(self, contexts: Contexts, arms: Arms, rewards: Rewards) -> None:
        chances = self._kept.generator.random((len(arms), len(self.memories)))
        for memory, chance in zip(self.memories, chances.T, strict=True):
            kept = chance < self.settings.share
            # An empty memory cannot be trained on, so every member gets the first observation.
            kept[:1] |= memory.count == 0
            memory.add(contexts[kept], arms[kept], rewards[kept])

    def train(self) -> None:
        for network, memory in zip(self.networks, self.memories, strict=True):
            network.train(memory)

    def state(self) -> State:
        state = prefixed("agent", super().state())
        for i, (network, memory) in enumerate(zip(self.networks, self.memories, strict=True)):
            state |= prefixed(f"member {i}", network.state())
            state |= prefixed(f"memory {i}", memory.state())
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().restore(under("agent", state))
        for i, (network, memory) in enumerate(zip(self.networks, self.memories, strict=True)):
            network.restore(under(f"member {i}", state))
            memory.restore(under(f"memory {i}", state))
