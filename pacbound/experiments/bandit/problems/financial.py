"""Financial: choose among portfolios of shares with hidden contents.

The data: gains and losses of 21 shares on 3713 days (Riquelme, Tucker and Snoek, 2018).

No package contains the file. If the public address does not answer, add it with
`pacbound data add financial raw_stock_contexts`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pacbound.data.entry import CanonicalFile
from pacbound.data.sources.url import Mirrors
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems.entry import RawEntry
from pacbound.experiments.bandit.problems.streams import Streams

__all__ = ["ENTRY", "financial"]

FILE = "raw_stock_contexts"

ENTRY = RawEntry(
    name="financial",
    title="bandit: which portfolio",
    rows=3_713,
    files=(
        CanonicalFile(
            FILE, 1_987_117, "cf468e5aae150dfd5c6b096464cd11e85f8b01198f8e49bedb941948850a6315"
        ),
    ),
    sources=(Mirrors(("https://storage.googleapis.com/bandits_datasets/",), ""),),
)

_ARMS = 8
_NOISE = 0.01  # times 1, 2, … 8: rewards of later arms are noisier


def financial(contents: Mapping[str, bytes], streams: Streams) -> Problem:
    """The days in random order, and portfolios of length 1, drawn with the seed.

    Regret is measured against the best portfolio's reward without noise.
    """
    days = np.loadtxt(contents[FILE].decode().splitlines(), skiprows=1)
    days = days[streams("order").permutation(len(days))]  # (T, d)
    portfolios = streams("portfolios").uniform(-1, 1, (days.shape[1], _ARMS))  # (d, arms)
    portfolios /= np.sqrt((portfolios**2).sum(0))
    # Not by `@`: a library's product rounds differently on different processors.
    expected = (days[:, :, None] * portfolios).sum(1)  # (T, arms)
    deviations = _NOISE * np.arange(1, _ARMS + 1)
    noise = deviations * streams("noise").standard_normal(expected.shape)
    return Problem(
        "financial",
        days.astype(np.float32),
        (expected + noise).astype(np.float32),
        expected.max(1),
    )
