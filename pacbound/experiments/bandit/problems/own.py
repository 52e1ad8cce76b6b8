"""A user's own problem: an `.npz` file with contexts, rewards and optionally optimal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.npz import read_arrays
from pacbound.errors import DataError
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems.preparation import z_scores
from pacbound.experiments.bandit.problems.streams import streams_of

__all__ = ["own_problem"]

_SHAPES = {"contexts": "(steps, size)", "rewards": "(steps, arms)", "optimal": "(steps,)"}


def own_problem(path: Path, seed: int) -> Problem:
    """The problem in the file, its rows in random order, the columns of contexts as z-scores.

    The array `rewards` holds the reward of every arm. Without `optimal`, regret is measured against
    the largest reward of the row, which is right if rewards are not random.
    """
    arrays = read_arrays(path, ("contexts", "rewards"), ("optimal",))
    contexts = z_scores(_numbers(path, "contexts", arrays["contexts"], 2))
    rewards = _numbers(path, "rewards", arrays["rewards"], 2).astype(np.float32)
    optimal = _numbers(path, "optimal", arrays.get("optimal", rewards.max(1)), 1)
    for key, array in (("rewards", rewards), ("optimal", optimal)):
        if len(array) != len(contexts):
            raise DataError(
                f"{path}: contexts has {len(contexts)} rows and {key} {len(array)}; "
                "give one of each for every step"
            )
    if rewards.shape[1] < 2:
        raise DataError(f"{path}: rewards has a single column; give two arms or more")
    order = streams_of("own", seed)("order").permutation(len(contexts))
    problem = Problem(path.stem, contexts[order], rewards[order], optimal[order])
    if not problem.uniform_regret() > 0:
        raise DataError(
            f"{path}: choosing arms at random has no regret, so there is nothing to learn; "
            "check rewards and optimal"
        )
    return problem


def _numbers(path: Path, key: str, array: NDArray[Any], dimensions: int) -> NDArray[np.float64]:
    """The array as float64, or an error that says what is wrong."""
    if array.dtype.kind not in "fiub":
        raise DataError(f"{path}: {key} is {array.dtype}; give numbers")
    if array.ndim != dimensions or 0 in array.shape:
        raise DataError(f"{path}: {key} has shape {array.shape}; give {_SHAPES[key]}")
    values = array.astype(np.float64)
    with np.errstate(over="ignore"):  # values that overflow float32 are reported here
        bad = ~np.isfinite(values.astype(np.float32))
    if bad.any():
        place = [int(index) for index in np.argwhere(bad)[0]]
        raise DataError(
            f"{path}: {key}{place} is {values[tuple(place)]}, not a finite float32 "
            f"({bad.sum()} such values); clean the data"
        )
    return values
