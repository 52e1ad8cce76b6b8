"""The examples of a data set to predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data import Dataset
from pacbound.errors import DataError

__all__ = ["SPLITS", "Examples", "examples_of"]

SPLITS = ("test", "train")


@dataclass(frozen=True, eq=False)
class Examples:
    """Raw inputs, their labels, and their origin."""

    inputs: NDArray[Any]
    labels: NDArray[np.int64]
    data: str
    split: str


def examples_of(data: Dataset, split: str | None = None, limit: int | None = None) -> Examples:
    """The first `limit` examples of a split; by default the test split, if there is one."""
    if split == "test" and data.test_labels is None:
        raise DataError(f"{data.name} has no test examples; use --split train")
    if split != "train" and data.test_inputs is not None and data.test_labels is not None:
        inputs, labels, name = data.test_inputs, data.test_labels, "test"
    else:
        inputs, labels, name = data.train_inputs, data.train_labels, "train"
    return Examples(inputs[:limit], labels[:limit], data.name, name)
