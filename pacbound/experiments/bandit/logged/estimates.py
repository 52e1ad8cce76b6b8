"""The value of a policy from a log: weighted rewards, with a model of rewards or without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.logged.limits import average_lower_limit, mean_lower_limit

__all__ = ["Estimate", "Weighted", "of_replay", "of_terms"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """An estimate with a lower and an upper limit, in the units of rewards."""

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Weighted:
    """The rows of a log beside a policy that was fixed before them; rewards in [0, 1].

    The importance weight of a row is w = π(a|x)/p, and its mean is 1.
    """

    policy: Array  # (n, arms): the probability of each arm
    model: Array | None  # (n, arms): predicted rewards in [0, 1]
    actions: NDArray[np.int64]  # (n,)
    rewards: Array  # (n,), in [0, 1]
    propensities: Array  # (n,)

    def terms(self) -> Array:
        """π·q + w (r − q_a): the mean of each is the policy's value, whatever the model q is.

        M. Dudík, J. Langford and L. Li, "Doubly robust policy evaluation and learning" (2011);
        without a model it is the importance-weighted reward of D. Horvitz and D. Thompson (1952).
        """
        rows = np.arange(len(self.actions))
        weights = self.policy[rows, self.actions] / self.propensities
        if self.model is None:
            return weights * self.rewards
        errors = self.rewards - self.model[rows, self.actions]
        terms: Array = (self.policy * self.model).sum(1) + weights * errors
        return terms

    def mirrored(self) -> Weighted:
        """The same for 1 − r: lower limits of its value are upper limits of this one."""
        model = None if self.model is None else 1 - self.model
        return Weighted(self.policy, model, self.actions, 1 - self.rewards, self.propensities)


def of_terms(weighted: Weighted, floor: float, delta: float, improvement: bool) -> Estimate:
    """The value of the policy, or how much it exceeds that of the logging policy.

    Without a model, the terms of r and of 1 − r differ, because the weights do not sum to n: the
    estimate is the mean of both.

    Valid when: without a model, floor ≥ 0; with one, every weight is at most the floor.
    """
    mirrored = weighted.mirrored()
    first, second = weighted.terms(), mirrored.terms()
    if improvement:
        first, second, floor = first - weighted.rewards, second - mirrored.rewards, floor + 1
    least, total = (-1.0, 0.0) if improvement else (0.0, 1.0)  # of a value; of r's and 1 − r's
    lower = mean_lower_limit(first, floor, delta / 2)
    upper = total - mean_lower_limit(second, floor, delta / 2)
    estimate = float(total + first.mean() - second.mean()) / 2
    return Estimate(min(max(estimate, least), 1.0), max(lower, least), min(upper, 1.0))


def of_replay(rewards: Array, delta: float) -> Estimate:
    """The average value of an agent that learns, over its accepted steps; rewards in [0, 1]."""
    lower = average_lower_limit(rewards, delta / 2)
    upper = 1 - average_lower_limit(1 - rewards, delta / 2)
    return Estimate(float(rewards.mean()) if len(rewards) else 0.5, lower, upper)
