"""Covertype: predict the kind of forest from the terrain and the soil.

The data: the kind of forest on 581012 patches of land (Blackard and Dean, 1999).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pacbound.data.entry import CanonicalFile
from pacbound.data.sources.package import without_header
from pacbound.data.sources.pip import PipPackage
from pacbound.data.sources.url import Mirrors
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems.entry import RawEntry
from pacbound.experiments.bandit.problems.preparation import classification
from pacbound.experiments.bandit.problems.streams import Streams

__all__ = ["ENTRY", "covertype"]

FILE = "covtype.data"
_CSV = "skmultiflow/data/datasets/covtype.csv"


def _from_csv(members: Mapping[str, bytes]) -> dict[str, bytes]:
    return {FILE: without_header(members[_CSV], _CSV)}


ENTRY = RawEntry(
    name="covertype",
    title="bandit: which forest",
    rows=581_012,
    files=(
        CanonicalFile(
            FILE, 75_169_317, "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945"
        ),
    ),
    sources=(
        Mirrors(("https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/",)),
        PipPackage(
            "scikit-multiflow==0.4.1",
            (_CSV,),
            _from_csv,
            (
                *("--python-version", "3.7", "--implementation", "cp", "--abi", "cp37m"),
                *("--platform", "manylinux1_x86_64"),
            ),
        ),
    ),
)

_STEPS = 50_000


def covertype(contents: Mapping[str, bytes], streams: Streams) -> Problem:
    """The first rows of a random order; arm a is class a + 1. The soil indicators are included."""
    lines = contents[FILE].split()
    chosen = streams("order").permutation(len(lines))[:_STEPS]
    # Only these lines are read as numbers: a twelfth of the file.
    table = np.loadtxt([lines[row].decode() for row in chosen], delimiter=",")
    return classification("covertype", table[:, :-1], table[:, -1].astype(np.int64) - 1, arms=7)
