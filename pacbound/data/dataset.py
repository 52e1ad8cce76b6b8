"""A data set in memory: training examples, optional test examples, and their digest."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.digests import (
    ExampleDigests,
    count_duplicates,
    data_digest,
    example_digests,
)
from pacbound.errors import DataError
from pacbound.printable import recordable

__all__ = ["LONGEST_ORIGIN", "Dataset", "as_floats", "origin_flaw"]

LONGEST_ORIGIN = 200  # characters, as in SPEC.md
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Classification examples, training and optionally test.

    Valid when: inputs are uint8 or float32, labels are int64 in 0 … classes - 1, and there is one
    label for each input. The constructor refuses anything else.
    """

    name: str
    train_inputs: NDArray[Any]  # (m, *input_shape)
    train_labels: NDArray[np.int64]  # (m,)
    test_inputs: NDArray[Any] | None
    test_labels: NDArray[np.int64] | None
    classes: int
    origin: str = ""  # the name or path it was loaded from
    extractor_sha256: str = ""  # of the frozen extractor whose features the inputs are
    extractor_origin: str = ""  # what that extractor was trained on, as declared
    extractor_inputs: tuple[int, ...] = ()  # the shape of one of that extractor's inputs
    groups: tuple[str, ...] = ()  # of the training examples, for claims about each group; or none
    class_names: tuple[str, ...] = ()  # by number, if the classes have names
    columns: tuple[str, ...] = ()  # the names of the inputs, if it is a table

    def __post_init__(self) -> None:
        self._check("training", self.train_inputs, self.train_labels)
        if (self.test_inputs is None) != (self.test_labels is None):
            raise DataError(f"data set '{self.name}': give test inputs and test labels, or neither")
        if self.test_inputs is not None and self.test_labels is not None:
            self._check("test", self.test_inputs, self.test_labels)
            if self.test_inputs.shape[1:] != self.input_shape:
                raise DataError(
                    f"data set '{self.name}': test inputs have shape {self.test_inputs.shape[1:]}, "
                    f"training inputs {self.input_shape}; give both the same shape"
                )

        if self.groups and len(self.groups) != self.m:
            raise DataError(
                f"data set '{self.name}': {len(self.groups)} groups for {self.m} training examples"
            )
        if bool(self.extractor_sha256) != bool(self.extractor_origin):
            raise DataError(
                f"data set '{self.name}': give the extractor's digest and its origin, or neither"
            )
        if self.extractor_sha256 and not _DIGEST.fullmatch(self.extractor_sha256):
            raise DataError(f"data set '{self.name}': the extractor's digest is not a SHA-256")
        if flaw := origin_flaw(self.extractor_origin):
            raise DataError(f"data set '{self.name}': the extractor's origin {flaw}")

    def _check(self, part: str, inputs: NDArray[Any], labels: NDArray[np.int64]) -> None:
        where = f"data set '{self.name}', {part} examples"
        if inputs.dtype not in (np.uint8, np.float32):
            raise DataError(f"{where}: inputs are {inputs.dtype}; give uint8 or float32")
        if labels.dtype != np.int64:
            raise DataError(f"{where}: labels are {labels.dtype}; give int64")
        if inputs.ndim < 2 or labels.ndim != 1 or len(inputs) != len(labels) or not len(labels):
            raise DataError(
                f"{where}: inputs of shape {inputs.shape} and labels of shape {labels.shape} do "
                "not match; give (m, …) and (m,) with m > 0"
            )
        if labels.min() < 0 or labels.max() >= self.classes:
            raise DataError(
                f"{where}: labels go from {labels.min()} to {labels.max()}; "
                f"give 0 to {self.classes - 1}"
            )

    @property
    def m(self) -> int:
        """The number of training examples."""
        return len(self.train_labels)

    def part(self, places: NDArray[np.int64]) -> Dataset:
        """The data set with a subset of the training examples and the same test examples."""
        inputs, labels = self.train_inputs[places], self.train_labels[places]
        groups = tuple(self.groups[place] for place in places.tolist()) if self.groups else ()
        return replace(self, train_inputs=inputs, train_labels=labels, groups=groups)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return self.train_inputs.shape[1:]

    @cached_property
    def digests(self) -> ExampleDigests:
        """The digest of each training example: (m, 32)."""
        return example_digests(self.train_inputs, self.train_labels)

    @cached_property
    def sha256(self) -> str:
        """The digest that binds a certificate to its training examples.

        It covers inputs, labels and the number of classes. The name and the order of the examples
        have no effect: the same examples in another order are the same data.
        """
        return data_digest(self.digests, self.classes)

    @cached_property
    def duplicates(self) -> int:
        """The number of training examples minus the number of distinct ones."""
        return count_duplicates(self.digests)


def as_floats(inputs: NDArray[Any]) -> NDArray[np.float32]:
    """Pixels as float32 in [0, 1]; float32 inputs unchanged."""
    if inputs.dtype == np.uint8:
        # Division in float32 is correctly rounded, so every machine gets the same inputs.
        return inputs.astype(np.float32) / np.float32(255)
    if inputs.dtype == np.float32:
        return inputs
    raise DataError(f"inputs are {inputs.dtype}; give uint8 or float32")


def origin_flaw(origin: str) -> str:
    """Why a certificate cannot name this origin of an extractor; empty if it can."""
    if len(origin) > LONGEST_ORIGIN:
        return f"has {len(origin)} characters; give at most {LONGEST_ORIGIN}"
    if origin != recordable(origin):
        return "has control characters or curly quotation marks; a certificate has neither"
    return ""
