"""Mushroom: pass, or eat and perhaps regret it (Blundell et al., 2015).

The data: 8124 mushrooms, edible or poisonous (Schlimmer, 1987; UCI repository).
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
from pacbound.experiments.bandit.problems.preparation import one_hot
from pacbound.experiments.bandit.problems.streams import Streams

__all__ = ["ENTRY", "mushroom"]

FILE = "agaricus-lepiota.data"
_CSV = "tests/mushroom.csv"


def _from_csv(members: Mapping[str, bytes]) -> dict[str, bytes]:
    return {FILE: without_header(members[_CSV], _CSV)}


ENTRY = RawEntry(
    name="mushroom",
    title="bandit: eat it or not",
    rows=8_124,
    files=(
        CanonicalFile(
            FILE, 373_704, "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e"
        ),
    ),
    sources=(
        Mirrors(("https://archive.ics.uci.edu/ml/machine-learning-databases/mushroom/",), ""),
        PipPackage("wittgenstein==0.3.4", (_CSV,), _from_csv),
    ),
)

_STEPS = 50_000
_EDIBLE, _POISONED = 5.0, -35.0
_PASS_EXPECTED = 0.0  # better than eating a poisonous one, which pays −15 in expectation


def mushroom(contents: Mapping[str, bytes], streams: Streams) -> Problem:
    """Arm 0 passes and gets nothing; arm 1 eats.

    An edible mushroom pays 5. A poisonous one pays −35 with probability one half, and otherwise 5.
    Regret is measured against the best expected reward, so luck can make it fall.
    """
    table = np.array([line.split(",") for line in contents[FILE].decode().split()])
    contexts = one_hot(list(table[:, 1:].T))  # an unknown attribute, '?', is a category
    rows = streams("rows").integers(len(table), size=_STEPS)
    poisonous = table[rows, 0] == "p"
    harmed = poisonous & (streams("harm").random(_STEPS) < 0.5)
    rewards = np.zeros((_STEPS, 2), np.float32)
    rewards[:, 1] = np.where(harmed, _POISONED, _EDIBLE)
    optimal = np.where(poisonous, _PASS_EXPECTED, _EDIBLE)
    return Problem("mushroom", contexts[rows], rewards, optimal)
