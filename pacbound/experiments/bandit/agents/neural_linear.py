"""Neural-linear: Bayesian linear regressions on the hidden units of a trained network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.agents.base import Agent, Arms, Contexts, Rewards
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.network import RewardNetwork
from pacbound.experiments.bandit.regression import BayesianRegression
from pacbound.experiments.bandit.settings import (
    LOOP,
    NOISE,
    PRIOR,
    REGRESSION,
    SCALES,
    TRAINING,
    AgentSettings,
)
from pacbound.experiments.bandit.stream import State, prefixed, under

__all__ = ["NeuralLinear"]


class NeuralLinear(Agent):
    """The network learns features; the regressions model the uncertainty.

    After each training the regressions are refitted to all data in the new features. Between
    trainings they are updated with every observation.
    C. Riquelme, G. Tucker and J. Snoek, "Deep Bayesian bandits showdown" (2018).
    """

    reads = LOOP | SCALES | TRAINING | NOISE | PRIOR | REGRESSION

    def __init__(self, size: int, arms: int, settings: AgentSettings, seed: str) -> None:
        super().__init__(size, arms, settings, seed)
        self.memory = Memory(size, settings)
        self.network = RewardNetwork(size, arms, "point", settings, seed)
        self.regression = BayesianRegression(settings.hidden + 1, arms, settings)

    @property
    def block(self) -> int:
        return 1

    def choose(self, contexts: Contexts) -> Arms:
        features = self.network.features(self.memory.as_inputs(contexts))
        best: Arms = np.argmax(self.regression.sample(features, self.stream), axis=1)
        return best

    def remember(self, contexts: Contexts, arms: Arms, rewards: Rewards) -> None:
        self.memory.add(contexts, arms, rewards)

    def observe(self, contexts: Contexts, arms: Arms, rewards: Rewards) -> None:
        known = self.memory.count
        self.remember(contexts, arms, rewards)
        features = self.network.features(self.memory.inputs[known:])
        for x, arm, reward in zip(features, arms, self.memory.rewards[known:], strict=True):
            self.regression.update(x, int(arm), float(reward))

    def train(self) -> None:
        self.network.train(self.memory)
        features = self.network.features(self.memory.inputs)
        self.regression.fit(features, self.memory.arms, self.memory.rewards)

    def state(self) -> State:
        return {
            **prefixed("agent", super().state()),
            **prefixed("memory", self.memory.state()),
            **prefixed("network", self.network.state()),
            **prefixed("regression", self.regression.state()),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().restore(under("agent", state))
        self.memory.restore(under("memory", state))
        self.network.restore(under("network", state))
        self.regression.restore(under("regression", state))
