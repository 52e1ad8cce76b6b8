"""Which examples train a prior, and which examples a certificate counts."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pacbound.data import Dataset
from pacbound.data.digests import ExampleDigests, numbered
from pacbound.errors import SettingError
from pacbound.recipes import Settings

__all__ = ["Split", "split_of", "split_order"]

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Two disjoint parts of the training examples, by their indices.

    Without a learned prior, all examples are counted. Both parts are in the order of the split's
    keys, so nothing depends on the order of rows.
    """

    examples: int
    learned: Places
    counted: Places

    def __post_init__(self) -> None:
        both = np.concatenate([self.learned, self.counted])
        if len(np.intersect1d(self.learned, self.counted)):
            raise SettingError("an example that the prior learned from must not be counted")
        if not np.array_equal(np.sort(both), np.arange(self.examples)):
            raise SettingError("a split must have every example once")

    def learned_data(self, data: Dataset) -> Dataset:
        """The examples that the prior may see: no counted example, and no test example."""
        return replace(data.part(self.learned), test_inputs=None, test_labels=None)

    def counted_data(self, data: Dataset) -> Dataset:
        """The examples that the certificate counts."""
        return data.part(self.counted)


def split_of(settings: Settings, data: Dataset) -> Split:
    """The split determined by the settings' fraction and seed and the content of the examples.

    Valid when: SHA-256 acts as a random function. Each example then has an independent key; equal
    examples too, because they are numbered. So the prior's part is a uniformly random subset, and
    given it, the counted examples are independent draws from the data distribution.
    """
    exact = Fraction(str(settings.prior_fraction)) * data.m
    size = math.floor(exact + Fraction(1, 2))
    if settings.prior_fraction and not 0 < size < data.m:
        raise SettingError(
            f"prior_fraction {settings.prior_fraction} of {data.m} examples leaves one part empty"
        )
    order = split_order(data.digests, settings.split_seed)
    return Split(data.m, order[:size], order[size:])


def split_order(digests: ExampleDigests, seed: int) -> Places:
    """The indices of the examples in ascending order of their keys.

    The key of an example is SHA-256 of the seed, its digest and its number among equal examples.
    """
    pairs = zip(digests, numbered(digests).tolist(), strict=True)
    texts = (f"pacbound-split/2 {seed} {row.tobytes().hex()} {number}\n" for row, number in pairs)
    keys = b"".join(hashlib.sha256(text.encode()).digest() for text in texts)
    return np.argsort(np.frombuffer(keys, "S32"), kind="stable")
