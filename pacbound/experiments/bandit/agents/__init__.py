"""Agents, which choose the arms."""

from __future__ import annotations

from pacbound.errors import unknown_name
from pacbound.experiments.bandit.agents.base import Agent
from pacbound.experiments.bandit.agents.bootstrap import Bootstrap
from pacbound.experiments.bandit.agents.fbnn import FunctionalThompson
from pacbound.experiments.bandit.agents.greedy import Greedy
from pacbound.experiments.bandit.agents.linear import Linear
from pacbound.experiments.bandit.agents.neural_linear import NeuralLinear
from pacbound.experiments.bandit.agents.thompson import (
    DiagThompson,
    KDiagThompson,
    KLinearThompson,
    KNonlinearThompson,
)
from pacbound.experiments.bandit.agents.uniform import Uniform
from pacbound.experiments.bandit.agents.vw import VowpalWabbit
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.seeds import derive

__all__ = ["AGENTS", "Agent", "AgentSettings", "make_agent"]

AGENTS: dict[str, type[Agent]] = {
    "uniform": Uniform,
    "linear": Linear,
    "greedy": Greedy,
    "neural-linear": NeuralLinear,
    "bootstrap": Bootstrap,
    "vw": VowpalWabbit,
    "fbnn": FunctionalThompson,
    "diag": DiagThompson,
    "k-diag": KDiagThompson,
    "k-linear": KLinearThompson,
    "k-nonlinear": KNonlinearThompson,
}


def make_agent(name: str, size: int, arms: int, settings: AgentSettings, seed: int) -> Agent:
    """The agent of this name, for contexts of a size; name and seed determine its randomness."""
    if name not in AGENTS:
        raise unknown_name("agent", name, AGENTS)
    return AGENTS[name](size, arms, settings, derive("bandit agent", name, seed))
