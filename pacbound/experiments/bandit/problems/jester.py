"""Jester: tell the joke that this user will like best, given what they thought of others."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO

import numpy as np

from pacbound.data.raw.jester import FILE
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems.streams import Streams

__all__ = ["jester"]

_MEMBER = "jester-data-1.csv"
_UNRATED = 99.0
_JOKES, _ARMS = 40, 8


def jester(contents: Mapping[str, bytes], streams: Streams) -> Problem:
    """The users who rated all of the 40 most-rated jokes, in random order.

    A random 32 of the jokes are the context, and the rating of one of the other 8 is the pay.
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
