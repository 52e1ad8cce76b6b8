"""fBNN: Thompson sampling with a network whose prior is a Gaussian process."""

from __future__ import annotations

from pacbound.experiments.bandit.agents.thompson import Thompson
from pacbound.experiments.bandit.functional import FunctionalNetwork
from pacbound.experiments.bandit.settings import (
    FUNCTIONAL,
    LOOP,
    NOISE,
    SCALES,
    TRAINING,
    AgentSettings,
)

__all__ = ["FunctionalThompson"]


class FunctionalThompson(Thompson):
    """S. Sun, G. Zhang, J. Shi and R. Grosse, "Functional variational Bayesian neural networks"
    (2019): the paper's fBNN.
    """

    reads = LOOP | SCALES | TRAINING | NOISE | FUNCTIONAL | {"initial_scale"}
    has_floor = False  # its prior says how uncertain it is where nothing was observed

    def make_network(
        self, size: int, arms: int, settings: AgentSettings, seed: str
    ) -> FunctionalNetwork:
        return FunctionalNetwork(size, arms, settings, seed)
