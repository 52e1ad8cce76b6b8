"""Which examples a prior learns from, and which a certificate counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pacbound.certificate.checker import prior_part
from pacbound.data import Dataset
from pacbound.errors import BadInput
from pacbound.recipes import Settings

__all__ = ["Split", "split_of"]

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Two parts of the training examples, by their places, that share none.

    Without a learned prior all examples are counted. The order of the counted ones is that of
    the data, so they are the same examples whoever counts them.
    """

    examples: int
    learned: Places
    counted: Places
    sha256: str = ""  # of the places that the prior learned from

    def __post_init__(self) -> None:
        both = np.concatenate([self.learned, self.counted])
        if len(np.intersect1d(self.learned, self.counted)):
            raise BadInput("an example that the prior learned from must not be counted")
        if not np.array_equal(np.sort(both), np.arange(self.examples)):
            raise BadInput("a split must have every example once")

    def learned_data(self, data: Dataset) -> Dataset:
        """What the prior may see: no counted example, and no test."""
        return replace(data.part(self.learned), test_inputs=None, test_labels=None)

    def counted_data(self, data: Dataset) -> Dataset:
        """What the certificate counts."""
        return data.part(self.counted) if len(self.learned) else data


def split_of(settings: Settings, examples: int) -> Split:
    """The split that the settings' fraction and seed determine."""
    size = round(Decimal(str(settings.prior_fraction)) * examples)
    if settings.prior_fraction and not 0 < size < examples:
        raise BadInput(
            f"prior_fraction {settings.prior_fraction} of {examples} examples leaves one part empty"
        )
    if not size:
        return Split(examples, np.array([], np.int64), np.arange(examples))
    try:
        part, digest = prior_part(examples, size, settings.split_seed)
    except ValueError as error:
        raise BadInput(str(error)) from error
    learned = np.array(part, np.int64)
    return Split(examples, learned, np.setdiff1d(np.arange(examples), learned), digest)
