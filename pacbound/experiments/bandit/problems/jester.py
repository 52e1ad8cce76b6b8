"""Jester: choose the joke that a user will like best, given the ratings of other jokes.

The data: ratings of 100 jokes by 24983 people (Goldberg, Roeder, Gupta and Perkins, 2001).

The archive is the edition with comma-separated values. The edition with a spreadsheet has another
hash and is refused. No package contains it. If the public address does not provide it, add it with
`pacbound data add jester jester-data-1.zip`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO

import numpy as np

from pacbound.data.entry import CanonicalFile
from pacbound.data.sources.url import Mirrors
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems.entry import RawEntry
from pacbound.experiments.bandit.problems.streams import Streams

__all__ = ["ENTRY", "jester"]

FILE = "jester-data-1.zip"

ENTRY = RawEntry(
    name="jester",
    title="bandit: which joke",
    rows=24_983,
    files=(
        CanonicalFile(
            FILE, 3_400_621, "4adf783a1e03bd3be063315cb6e0a064fe63e983fd289d01b8e401a8e6c41e5f"
        ),
    ),
    sources=(Mirrors(("https://goldberg.berkeley.edu/jester-data/",), ""),),
)

_MEMBER = "jester-data-1.csv"
_UNRATED = 99.0
_JOKES, _ARMS = 40, 8


def jester(contents: Mapping[str, bytes], streams: Streams) -> Problem:
    """The users who rated all of the 40 most-rated jokes, in random order.

    A random 32 of the jokes are the context, and the rating of one of the other 8 is the reward.
    """
    with zipfile.ZipFile(BytesIO(contents[FILE])) as archive:
        lines = archive.read(_MEMBER).decode().splitlines()
    ratings = np.loadtxt(lines, delimiter=",")[:, 1:]  # the first column counts a user's ratings
    rated = ratings != _UNRATED
    most_rated = np.argsort(-rated.sum(0), kind="stable")[:_JOKES]
    ratings = ratings[rated[:, most_rated].all(1)][:, most_rated]
    ratings = ratings[:, streams("jokes").permutation(_JOKES)]
    ratings = ratings[streams("order").permutation(len(ratings))].astype(np.float32)
    contexts, rewards = ratings[:, :-_ARMS], ratings[:, -_ARMS:]
    return Problem("jester", contexts, rewards, rewards.max(1).astype(np.float64))
