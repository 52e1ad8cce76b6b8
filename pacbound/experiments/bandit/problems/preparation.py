"""Convert the columns of a table to contexts, and classes to rewards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.problem import Problem

__all__ = ["classification", "one_hot", "z_scores"]


def one_hot(columns: Sequence[NDArray[np.str_]]) -> NDArray[np.float32]:
    """Column by column, an indicator for each category, in alphabetical order."""
    return np.hstack([np.equal.outer(column, np.unique(column)) for column in columns]).astype(
        np.float32
    )


def z_scores(values: NDArray[np.float64], seen: int | None = None) -> NDArray[np.float32]:
    """Columns with mean 0 and standard deviation 1; a constant column becomes 0.

    Arguments:
        values: (rows, columns)
        seen: The number of rows, the first ones, that means and deviations are measured on;
            None for all. A column that is constant there keeps its scale.
    """
    first = values[:seen]
    centred = values - first.mean(0)
    # Detected by its range: rounding alone can give a constant column a deviation.
    constant = first.min(0) == first.max(0)
    centred[:, constant] = values[:, constant] - first[0, constant]
    scores: NDArray[np.float64] = centred / np.where(constant, 1, first.std(0))
    return scores.astype(np.float32)


def classification(
    name: str, inputs: NDArray[np.float64], labels: NDArray[np.int64], arms: int
) -> Problem:
    """Guess the class: the right arm pays 1, every other 0. Inputs are z-scored."""
    rewards = np.equal.outer(labels, np.arange(arms)).astype(np.float32)
    return Problem(name, z_scores(inputs), rewards, np.ones(len(labels)))
