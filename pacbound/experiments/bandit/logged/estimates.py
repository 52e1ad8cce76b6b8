"""The value of a policy from a log: weighted rewards, with a model of rewards or without."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import DataError
from pacbound.experiments.bandit.logged.limits import average_lower_limit, mean_lower_limit

__all__ = [
    "Estimate",
    "Weighted",
    "improvement_of",
    "of_replay",
    "refuse_disjoint",
    "value_of",
]

Array = NDArray[np.float64]
WRONG = "the propensities cannot be right"


@dataclass(frozen=True)
class Estimate:
    """An estimate with a lower and an upper limit, in the units of rewards."""

    estimate: float | None  # None if no row says anything
    lower: float
    upper: float

    @classmethod
    def within(cls, estimate: float, lower: float, upper: float, least: float) -> Estimate:
        """Limits of a number between `least` and 1, and the estimate moved into them.

        DataError if the limits contradict each other: valid ones do so with probability δ at most.
        """
        lower, upper = min(max(lower, least), 1.0), max(min(upper, 1.0), least)
        if lower > upper:
            raise DataError(
                "the log contradicts itself: its rewards, weighted by the propensities, are too "
                f"many for any policy; {WRONG}"
            )
        return cls(min(max(estimate, lower), upper), lower, upper)


@dataclass(frozen=True, eq=False)
class Weighted:
    """The rows of a log beside a policy that was fixed before them; rewards in [0, 1].

    The importance weight of a row is w = π(a|x)/p, and its mean is 1. No term is below −floor.
    """

    policy: Array  # (n, arms): the probability of each arm
    actions: NDArray[np.int64]  # (n,)
    rewards: Array  # (n,), in [0, 1]
    propensities: Array  # (n,)
    model: Array | None = None  # (n, arms): predicted rewards in [0, 1]
    floor: float = 0.0
    least: float = 1.0  # with a model, no propensity is below; nor is that of an arm not pulled

    def terms(self) -> Array:
        """π·q + w (r − q_a): the mean of each is the policy's value, whatever the model q is.

        M. Dudík, J. Langford and L. Li, "Doubly robust policy evaluation and learning" (2011);
        without a model it is the importance-weighted reward of D. Horvitz and D. Thompson (1952).
        A prediction is reduced where it could exceed the floor when weighted, as I. Waudby-Smith,
        L. Wu, A. Ramdas, N. Karampatziakis and P. Mineiro do (2024): w q_a ≤ floor.
        """
        rows = np.arange(len(self.actions))
        weights = self.policy[rows, self.actions] / self.propensities
        if self.model is None:
            return weights * self.rewards
        highest = np.divide(
            self.floor * self.least,
            self.policy,
            out=np.ones_like(self.policy),
            where=self.policy > 0,
        )
        predicted = np.minimum(self.model, highest)
        errors = self.rewards - predicted[rows, self.actions]
        terms: Array = (self.policy * predicted).sum(1) + weights * errors
        return terms

    def mirrored(self) -> Weighted:
        """The same for 1 − r: lower limits of its value are upper limits of this one."""
        model = None if self.model is None else 1 - self.model
        return replace(self, rewards=1 - self.rewards, model=model)


def value_of(weighted: Weighted, delta: float) -> Estimate:
    """The value of the policy.

    The terms of r and of 1 − r differ if weights do not sum to n, or if predictions were reduced:
    the estimate is the mean of both.
    """
    first, second = weighted.terms(), weighted.mirrored().terms()
    lower = mean_lower_limit(first, weighted.floor, delta / 2)
    upper = 1 - mean_lower_limit(second, weighted.floor, delta / 2)
    return Estimate.within(float(1 + first.mean() - second.mean()) / 2, lower, upper, 0.0)


def refuse_disjoint(values: Collection[Estimate]) -> None:
    """DataError if limits of one policy's value, by several estimators, have nothing in common."""
    if max(one.lower for one in values) > min(one.upper for one in values):
        raise DataError(
            f"the log contradicts itself: its estimators disagree about one policy; {WRONG}"
        )


def improvement_of(weighted: Weighted, delta: float) -> Estimate:
    """How much the policy's value exceeds the average value of the logging policy on these rows.

    The logging policy may have learned meanwhile, so the terms' means move.
    """
    mirrored = weighted.mirrored()
    first = weighted.terms() - weighted.rewards
    second = mirrored.terms() - mirrored.rewards
    lower = average_lower_limit(first, delta / 2, weighted.floor + 1)
    upper = -average_lower_limit(second, delta / 2, weighted.floor + 1)
    return Estimate.within(float(first.mean() - second.mean()) / 2, lower, upper, -1.0)


def of_replay(rewards: Array, delta: float) -> Estimate:
    """The average value of an agent that learns, over its accepted steps; rewards in [0, 1]."""
    if not len(rewards):
        return Estimate(None, 0.0, 1.0)
    lower = average_lower_limit(rewards, delta / 2)
    upper = 1 - average_lower_limit(1 - rewards, delta / 2)
    return Estimate.within(float(rewards.mean()), lower, upper, 0.0)
