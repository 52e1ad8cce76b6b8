"""Uniform: a random arm. Its regret is the unit of regret."""

from __future__ import annotations

from pacbound.experiments.bandit.agents.base import Agent, Arms, Contexts

__all__ = ["Uniform"]


class Uniform(Agent):
    """Every arm with the same probability."""

    def choose(self, contexts: Contexts) -> Arms:
        return self.stream.generator.integers(self.arms, size=len(contexts))
