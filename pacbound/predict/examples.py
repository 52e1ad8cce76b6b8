"""The examples of a data set to predict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data import Dataset
from pacbound.data.rows import Kind, read_rows
from pacbound.errors import DataError

__all__ = ["SPLITS", "Examples", "examples_of", "rows_of"]

SPLITS = ("test", "train")


@dataclass(frozen=True, eq=False)
class Examples:
    """Raw inputs, their labels, and their origin."""

    inputs: NDArray[Any]
    labels: NDArray[np.int64]  # empty if they are not known
    data: str
    split: str  # test, train, or given: rows of a file

    @property
    def labelled(self) -> bool:
        """Whether the classes are known."""
        return len(self.labels) > 0


def rows_of(path: Path, kind: Kind, trained_on: str = "", limit: int | None = None) -> Examples:
    """The first `limit` rows of a file: any number of them, of any classes, labelled or not.

    Arguments:
        trained_on: The digest of the training examples, to tell them from new rows.
    """
    rows = read_rows(path, kind)
    labels, split = np.empty(0, np.int64), "given"
    if rows.labels is not None:
        labels = rows.labels
        whole = Dataset(path.stem, rows.inputs, labels, None, None, kind.classes)
        if whole.sha256 == trained_on:
            split = "train"
    return Examples(rows.inputs[:limit], labels[:limit], str(path), split)


def examples_of(data: Dataset, split: str | None = None, limit: int | None = None) -> Examples:
    """The first `limit` examples of a split; by default the test split, if there is one."""
    if split == "test" and data.test_labels is None:
        raise DataError(f"{data.name} has no test examples; use --split train")
    if split != "train" and data.test_inputs is not None and data.test_labels is not None:
        inputs, labels, name = data.test_inputs, data.test_labels, "test"
    else:
        inputs, labels, name = data.train_inputs, data.train_labels, "train"
    return Examples(inputs[:limit], labels[:limit], data.name, name)
