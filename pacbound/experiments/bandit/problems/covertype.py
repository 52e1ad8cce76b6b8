"""Covertype: name the kind of forest from the lie of the land and its soil."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pacbound.data.raw.covertype import FILE
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems.preparation import classification
from pacbound.experiments.bandit.problems.streams import Streams

__all__ = ["covertype"]

_STEPS = 50_000


def covertype(contents: Mapping[str, bytes], streams: Streams) -> Problem:
    """The first rows of a random order; arm a is class a + 1. The soil's indicators count too."""
    lines = contents[FILE].split()
    chosen = streams("order").permutation(len(lines))[:_STEPS]
    # Only these lines are read as numbers: a twelfth of the file.
    table = np.loadtxt([lines[row].decode() for row in chosen], delimiter=",")
    return classification("covertype", table[:, :-1], table[:, -1].astype(np.int64) - 1, arms=7)
