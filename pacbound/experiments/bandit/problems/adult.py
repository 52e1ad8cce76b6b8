"""Adult: guess a person's occupation from the rest of the census form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pacbound.data.raw.adult import FILES
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems.preparation import classification, one_hot
from pacbound.experiments.bandit.problems.streams import Streams

__all__ = ["adult"]

_FIELDS = 15
_OCCUPATION = 6
_CATEGORIES = [1, 3, 5, 7, 8, 9, 13, 14]
_NUMBERS = [0, 2, 4, 10, 11, 12]


def adult(contents: Mapping[str, bytes], streams: Streams) -> Problem:
    """The complete forms in random order; arms are occupations in alphabetical order.

    The second file ends incomes with a full stop, as if they were categories of their own. The
    published benchmark kept it, and so the same income has two columns here.
    """
    lines = [line for file in FILES for line in contents[file].decode().splitlines()]
    forms = [fields for line in lines if len(fields := line.split(", ")) == _FIELDS]
    table = np.array([fields for fields in forms if "?" not in fields])
    table = table[streams("order").permutation(len(table))]
    inputs = np.hstack(
        [table[:, _NUMBERS].astype(np.float64), one_hot(list(table[:, _CATEGORIES].T))]
    )
    occupations, labels = np.unique(table[:, _OCCUPATION], return_inverse=True)
    return classification("adult", inputs, labels.astype(np.int64), arms=len(occupations))
