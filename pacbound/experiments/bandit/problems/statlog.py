"""Statlog: predict the state of the shuttle's radiators; four in five rows are of one class.

The data: 43500 states of a space shuttle's radiators (UCI repository).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pacbound.data.entry import CanonicalFile
from pacbound.data.sources import SourceFailed
from pacbound.data.sources.apt import AptPackage
from pacbound.data.sources.url import Mirrors
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems.entry import RawEntry
from pacbound.experiments.bandit.problems.preparation import classification
from pacbound.experiments.bandit.problems.streams import Streams
from pacbound.experiments.bandit.rda import Factor, decode_data_frame

__all__ = ["ENTRY", "statlog"]

FILE = "shuttle.trn"
_LARGEST = 10**6  # the largest absolute value
_ROWS = 43_500  # in the package, the rows of the test file follow these
_RDA = "usr/lib/R/site-library/mlbench/data/Shuttle.rda"
_CLASSES = ("Rad.Flow", "Fpv.Close", "Fpv.Open", "High", "Bypass", "Bpv.Close", "Bpv.Open")


def _from_data_frame(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Convert R's columns back to the original lines of integers, classes 1 … 7 last."""
    columns = decode_data_frame(members[_RDA], _RDA)
    factor = columns[-1] if columns else None
    plain = [column for column in columns[:-1] if not isinstance(column, Factor)]
    if not isinstance(factor, Factor) or len(plain) < len(columns) - 1:
        raise SourceFailed(f"{_RDA} is not numbers and a class")
    try:
        numbers = np.array([_CLASSES.index(level) + 1 for level in factor.levels])
        table = np.column_stack([*plain, numbers[factor.codes - 1]])[:_ROWS]
        if (table != np.rint(table)).any() or (abs(table) > _LARGEST).any():
            raise ValueError("a number is not an integer, or is too large")
        table = table.astype(np.int64)
    except (ValueError, IndexError) as error:
        raise SourceFailed(f"{_RDA} is not the shuttle's data: {error}") from error
    return {FILE: "".join(" ".join(map(str, row)) + "\n" for row in table.tolist()).encode()}


ENTRY = RawEntry(
    name="statlog",
    title="bandit: which state",
    rows=_ROWS,
    files=(
        CanonicalFile(
            FILE, 1_153_518, "87b24ee9fb5137e1d417659cf905d84d0e15342bbaa60770f1ae83da1a38200a"
        ),
    ),
    sources=(
        Mirrors(("https://storage.googleapis.com/bandits_datasets/",), ""),
        AptPackage("r-cran-mlbench", (_RDA,), _from_data_frame),
    ),
)


def statlog(contents: Mapping[str, bytes], streams: Streams) -> Problem:
    """All rows in random order; arm a is class a + 1."""
    table = np.loadtxt(contents[FILE].decode().splitlines())
    table = table[streams("order").permutation(len(table))]
    return classification("statlog", table[:, :-1], table[:, -1].astype(np.int64) - 1, arms=7)
