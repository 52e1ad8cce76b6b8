"""Greedy: a network without noise, which explores only through its errors."""

from __future__ import annotations

from pacbound.experiments.bandit.agents.thompson import Thompson
from pacbound.experiments.bandit.settings import LOOP, NOISE, PRIOR, SCALES, TRAINING

__all__ = ["Greedy"]


class Greedy(Thompson):
    """Thompson sampling from a point: it pulls the arm that the trained network prefers.

    C. Riquelme, G. Tucker and J. Snoek, "Deep Bayesian bandits showdown" (2018), call this
    baseline RMS, and the paper calls it SGD.
    """

    reads = LOOP | SCALES | TRAINING | NOISE | PRIOR
    posterior = "point"
    has_floor = False
