"""A predictor on labelled examples: everything that its certificate counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.dataset import as_floats
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
        ids: An id of each example, or its input as a text. Then inputs only show whether examples
            are shared.
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
        if self.inputs is not None and other.inputs is not None:
            return max(
                _among(mine, theirs) for mine, theirs in _comparable(self.inputs, other.inputs)
            )
        if self.ids is not None and other.ids is not None:
            mine, theirs = (
                [x.strip().removesuffix(".0") for x in y] for y in (self.ids, other.ids)
            )
            return _among(mine, theirs)
        return 0


def _among(some: Sequence[object], others: Sequence[object]) -> int:
    theirs = set(others)
    return sum(each in theirs for each in some)


def _comparable(
    first: NDArray[Any], second: NDArray[Any]
) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """The values of each row, whatever their types and shapes: as the coarser type of the two.

    If one has bytes and the other fractions, also with the bytes divided by 255.
    """
    kinds = [x.dtype for x in (first, second) if x.dtype.kind == "f"]
    coarse = min(kinds, key=lambda kind: kind.itemsize, default=np.dtype(np.float64))
    exact = first.dtype == second.dtype
    yield (
        _rows(first, first.dtype if exact else coarse),
        _rows(second, second.dtype if exact else coarse),
    )
    if kinds and np.dtype(np.uint8) in (first.dtype, second.dtype):
        scaled = [as_floats(x) if x.dtype == np.uint8 else x for x in (first, second)]
        coarse = min(coarse, np.dtype(np.float32), key=lambda kind: kind.itemsize)
        yield _rows(scaled[0], coarse), _rows(scaled[1], coarse)


def _rows(inputs: NDArray[Any], kind: np.dtype[Any]) -> list[bytes]:
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(inputs.reshape(len(inputs), -1), kind.newbyteorder("="))
    if kind.kind == "f":
        values = values + kind.type(0)  # -0.0 equals 0.0
    return [row.tobytes() for row in values]


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
    array = None if inputs is None else np.asarray(plain(inputs))
    numbers = array if array is not None and array.ndim and array.dtype.kind in "biuf" else None
    if len(ids):
        return Contents(numbers, tuple(map(str, ids)))
    if array is None or numbers is not None:
        return Contents(numbers)
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
