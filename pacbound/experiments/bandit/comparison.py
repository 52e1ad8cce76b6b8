"""Comparison of agents over seeds: means, their standard errors, and the winners."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["Average", "Winners", "paired", "winners"]


@dataclass(frozen=True)
class Average:
    """A mean over independent runs, and its standard error."""

    mean: float
    standard_error: float | None  # None for a single run
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Average | None:
        """The average of some values; None if there are none.

        Example:
            >>> Average.of([1.0, 3.0])
            Average(mean=2.0, standard_error=1.0, count=2)
        """
        found = np.array([*values], dtype=np.float64)
        if not len(found):
            return None
        error = None
        if len(found) > 1:
            error = float(found.std(ddof=1) / math.sqrt(len(found)))
        return cls(float(found.mean()), error, len(found))

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Student's interval of the mean; None for a single run.

        Example:
            >>> [round(end, 2) for end in Average.of([1.0, 2.0, 3.0]).interval()]
            [-0.48, 4.48]
        """
        if self.standard_error is None:
            return None
        from scipy.stats import t

        reach = float(t.ppf((1 + confidence) / 2, self.count - 1)) * self.standard_error
        return self.mean - reach, self.mean + reach


@dataclass(frozen=True)
class Winners:
    """The agent with the smallest mean, and those close to it."""

    best: str | None = None
    close: frozenset[str] = frozenset()


def winners(regrets: Mapping[str, Mapping[int, float]]) -> Winners:
    """The winners among agents, from their regrets by seed.

    Only agents with the maximal number of runs are compared, and a single agent does not win. An
    agent is close to the best if the mean difference between the two, on the same seeds, is within
    one standard error of that difference. So a stream that is hard for all agents has no effect.

    Example:
        >>> winners({"a": {0: 1.0, 1: 5.0}, "b": {0: 1.1, 1: 4.9}, "c": {0: 2.0, 1: 6.0}})
        Winners(best='a', close=frozenset({'b'}))
    """
    if sum(bool(runs) for runs in regrets.values()) < 2:
        return Winners()
    most = max(len(runs) for runs in regrets.values())
    means = {
        agent: float(np.mean([*runs.values()]))
        for agent, runs in regrets.items()
        if len(runs) == most
    }
    best = min(means, key=lambda agent: means[agent])
    return Winners(
        best,
        frozenset(
            agent
            for agent in means
            if agent != best and _within_error(regrets[agent], regrets[best])
        ),
    )


def paired(runs: Mapping[int, float], others: Mapping[int, float]) -> Average | None:
    """The mean difference of two agents on the seeds that both have; None if there are none.

    Example:
        >>> paired({0: 2.0, 1: 6.0, 2: 9.0}, {0: 1.0, 1: 5.0})
        Average(mean=1.0, standard_error=0.0, count=2)
    """
    return Average.of(runs[seed] - others[seed] for seed in runs if seed in others)


def _within_error(runs: Mapping[int, float], best: Mapping[int, float]) -> bool:
    difference = paired(runs, best)
    if difference is None or difference.standard_error is None:
        return False
    return difference.mean <= difference.standard_error
