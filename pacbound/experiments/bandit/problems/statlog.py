"""Statlog: name the state of the shuttle's radiators; four in five rows are of one class."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pacbound.data.raw.statlog import FILE
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems.preparation import classification
from pacbound.experiments.bandit.problems.streams import Streams

__all__ = ["statlog"]


def statlog(contents: Mapping[str, bytes], streams: Streams) -> Problem:
    """All rows in random order; arm a is class a + 1."""
    table = np.loadtxt(contents[FILE].decode().splitlines())
    table = table[streams("order").permutation(len(table))]
    return classification("statlog", table[:, :-1], table[:, -1].astype(np.int64) - 1, arms=7)
