"""Linear: Thompson sampling from Bayesian linear regressions of the rewards on the context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.agents.base import Agent, Arms, Contexts, Rewards
from pacbound.experiments.bandit.regression import BayesianRegression
from pacbound.experiments.bandit.settings import LOOP, REGRESSION, SCALES, AgentSettings
from pacbound.experiments.bandit.stream import State, prefixed, under

__all__ = ["Linear"]


class Linear(Agent):
    """One regression for each arm, with an intercept; exact after every observation.

    C. Riquelme, G. Tucker and J. Snoek, "Deep Bayesian bandits showdown" (2018): LinFullPost.
    """

    reads = LOOP | SCALES | REGRESSION

    def __init__(self, size: int, arms: int, settings: AgentSettings, seed: str) -> None:
        super().__init__(size, arms, settings, seed)
        self.regression = BayesianRegression(size + 1, arms, settings)
        self.regression.standard[1] = settings.reward_scale

    @property
    def block(self) -> int:
        return 1

    def choose(self, contexts: Contexts) -> Arms:
        best: Arms = np.argmax(self.regression.sample(self._inputs(contexts), self.stream), axis=1)
        return best

    def observe(self, contexts: Contexts, arms: Arms, rewards: Rewards) -> None:
        for x, arm, reward in zip(self._inputs(contexts), arms, rewards, strict=True):
            self.regression.update(x, int(arm), float(reward))

    def train(self) -> None:
        if self.settings.standardize:
            self.regression.standardize(self.settings.reward_scale)
        self.regression.refresh()

    def _inputs(self, contexts: Contexts) -> NDArray[np.float64]:
        """Scaled contexts, with a 1 for the intercept."""
        scaled = contexts.astype(np.float64) / self.settings.context_scale
        return np.hstack([scaled, np.ones((len(contexts), 1))])

    def state(self) -> State:
        return {
            **prefixed("agent", super().state()),
            **prefixed("regression", self.regression.state()),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().restore(under("agent", state))
        self.regression.restore(under("regression", state))
