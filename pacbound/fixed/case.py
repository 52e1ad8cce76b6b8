"""A predictor on labelled examples: everything that its certificate counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.digests import (
    ExampleDigests,
    example_digests,
    id_digests,
    unnamed_digests,
)
from pacbound.errors import DataError
from pacbound.fixed.classes import Classes
from pacbound.fixed.examples import plain
from pacbound.predictors.claims import ExampleCosts
from pacbound.predictors.judging import Outputs

__all__ = ["Case", "Contents", "contents_of"]

PLAIN = (str, int, float, bool, type(None))  # cells of a row that have a text of their own


@dataclass(frozen=True, eq=False)
class Contents:
    """What tells examples apart: their inputs as an array, or a text for each; neither if unknown.

    Arguments:
        inputs: Numbers, (n, …).
        ids: An id of each example, or its input as a text.
    """

    inputs: NDArray[Any] | None = None
    ids: tuple[str, ...] | None = None

    @property
    def are_visible(self) -> bool:
        """Whether copies can be seen."""
        return self.inputs is not None or self.ids is not None

    def digests(self, labels: NDArray[np.int64]) -> ExampleDigests:
        """The digests of the examples (SPEC.md, "Examples")."""
        if self.ids is not None:
            if len(self.ids) != len(labels):
                raise DataError(f"{len(self.ids)} ids are given for {len(labels)} examples")
            return id_digests(self.ids, labels)
        if self.inputs is not None:
            return example_digests(self.inputs, labels)
        return unnamed_digests(labels)

    def shared_with(self, other: Contents) -> int:
        """How many of these examples are also among others, whatever their labels.

        0 if that cannot be seen.
        """
        if not (self.are_visible and other.are_visible):
            return 0
        found = []
        for each in (self, other):
            texts = each.ids if each.ids is not None else each.inputs
            assert texts is not None
            found.append([row.tobytes() for row in each.digests(np.zeros(len(texts), np.int64))])
        theirs = set(found[1])
        return sum(row in theirs for row in found[0])


@dataclass(frozen=True, eq=False)
class Case:
    """Labelled examples, and what a predictor gave for each."""

    name: str  # of the data
    labels: NDArray[np.int64]
    classes: Classes
    outputs: Outputs
    contents: Contents
    source: str  # estimator, module, onnx or predictions
    sha256: str  # of the predictor
    groups: tuple[str, ...] = ()
    costs: ExampleCosts | None = None
    software: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)


def contents_of(inputs: Any, ids: Sequence[object] = ()) -> Contents:
    """What tells the inputs apart that a user gives in Python.

    Arguments:
        inputs: An array, a list of texts, or a table; None if there are none.
        ids: An id of each example, instead of its content.
    """
    if len(ids):
        return Contents(ids=tuple(map(str, ids)))
    if inputs is None:
        return Contents()
    array = np.asarray(plain(inputs))
    if array.ndim and array.dtype.kind in "biuf":
        return Contents(inputs=array)
    if array.ndim == 1 and array.dtype.kind == "U":
        return Contents(ids=tuple(array.tolist()))
    rows = array.tolist() if array.ndim else []
    cells = [row if isinstance(row, list) else [row] for row in rows]
    if not rows or not all(isinstance(cell, PLAIN) for row in cells for cell in row):
        raise DataError(
            "the inputs are neither numbers nor texts, so copies cannot be seen: give an id of "
            "each example with ids="
        )
    return Contents(ids=tuple(repr(tuple(row)) for row in cells))
