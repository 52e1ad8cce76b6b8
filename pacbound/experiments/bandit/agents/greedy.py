"""Greedy: a network without noise, which explores only by its errors."""

from __future__ import annotations

from pacbound.experiments.bandit.agents.thompson import Thompson

__all__ = ["Greedy"]


class Greedy(Thompson):
    """Thompson sampling from a point: the arm that the trained network likes best.

    The baseline that C. Riquelme, G. Tucker and J. Snoek, "Deep Bayesian bandits showdown"
    (2018), call RMS, and the paper SGD.
    """

    posterior = "point"
