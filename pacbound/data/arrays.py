"""Convert arrays to the types of a data set, or say what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.dataset import Dataset
from pacbound.data.notes import note
from pacbound.errors import DataError

__all__ = ["dataset_of", "inputs_as_stored"]

_LARGEST_LABEL = 65_535  # a larger label is probably an identifier, and needs as many outputs
_EXACT = 2**24  # float32 holds every whole number up to this


def dataset_of(name: str, arrays: Mapping[str, NDArray[Any]], where: str) -> Dataset:
    """The data set of the arrays x (m, …), y (m,) and optionally x_test, y_test.

    Arguments:
        where: The start of error messages.
    """
    inputs, labels = _examples(where, arrays, "x", "y")
    classes = int(labels.max()) + 1
    if labels.min() == labels.max():
        raise DataError(
            f"{where}: y holds the single class {labels.max()}; give at least two classes"
        )
    _tell_of_unused_classes(where, labels)
    test_inputs = test_labels = None
    if "x_test" in arrays:
        test_inputs, test_labels = _examples(where, arrays, "x_test", "y_test")
        if test_inputs.shape[1:] != inputs.shape[1:]:
            raise DataError(
                f"{where}: x_test has inputs of shape {test_inputs.shape[1:]}, x of shape "
                f"{inputs.shape[1:]}; give both the same shape"
            )
        if test_inputs.dtype != inputs.dtype:
            # as_floats would scale one of them and not the other.
            raise DataError(
                f"{where}: x is {inputs.dtype} and x_test {test_inputs.dtype}; give both one type"
            )
        if test_labels.max() >= classes:
            raise DataError(
                f"{where}: y_test holds label {test_labels.max()}, y only 0 to {classes - 1}; give "
                "training examples of every class (a held-out error without these test examples "
                "would be too small)"
            )
    return Dataset(name, inputs, labels, test_inputs, test_labels, classes)


def _examples(
    where: str, arrays: Mapping[str, NDArray[Any]], x: str, y: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Inputs and labels in the types of a data set, or an error that says what is wrong."""
    inputs, labels = arrays[x], arrays[y]
    if inputs.ndim < 2 or 0 in inputs.shape:
        raise DataError(f"{where}: {x} has shape {inputs.shape}; give (examples, features …)")
    if labels.ndim != 1:
        raise DataError(f"{where}: {y} has shape {labels.shape}; give one label per example, (m,)")
    if len(inputs) != len(labels):
        raise DataError(
            f"{where}: {x} has {len(inputs)} examples and {y} {len(labels)} labels; "
            "give one label per example"
        )
    return inputs_as_stored(where, x, inputs), _labels(where, y, labels)


def inputs_as_stored(where: str, key: str, inputs: NDArray[Any]) -> NDArray[Any]:
    """Inputs as uint8 or float32, with a note if that is another type.

    uint8 are pixels, which the network sees divided by 255. All others are never scaled: whole
    numbers, such as tokens, stay what they are.
    """
    if inputs.dtype in (np.uint8, np.float32):
        return _finite(where, key, inputs)
    if inputs.dtype.kind in "iub":
        return _whole_numbers(where, key, inputs)
    if inputs.dtype.kind != "f":
        raise DataError(
            f"{where}: {key} is {inputs.dtype}; give uint8 pixels, whole numbers or float32"
        )
    floats = _finite(where, key, inputs)
    how = "exactly" if np.array_equal(floats, inputs) else "rounded"
    note(f"{where}: {key} is {inputs.dtype}; it is used as float32, {how}")
    return floats


def _whole_numbers(where: str, key: str, inputs: NDArray[Any]) -> NDArray[np.float32]:
    large = (inputs > _EXACT) | (inputs < -_EXACT) if inputs.dtype.kind != "b" else inputs[:0]
    if large.any():
        place = tuple(int(i) for i in np.argwhere(large)[0])
        raise DataError(
            f"{where}: {key}{list(place)} is {inputs[place]}; float32 holds whole numbers exactly "
            f"only up to {_EXACT}: give smaller ones"
        )
    note(f"{where}: {key} is {inputs.dtype}; it is used as float32, exactly and without scaling")
    return inputs.astype(np.float32)


def _finite(where: str, key: str, inputs: NDArray[Any]) -> NDArray[Any]:
    if inputs.dtype == np.uint8:
        return inputs
    with np.errstate(over="ignore"):  # values that overflow float32 are reported below
        floats = inputs.astype(np.float32, copy=False)
    bad = ~np.isfinite(floats)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise DataError(
            f"{where}: {key}{list(place)} is {inputs[place]}, not a finite float32 "
            f"({bad.sum()} such values); clean the data"
        )
    return floats


def _tell_of_unused_classes(where: str, labels: NDArray[np.int64]) -> None:
    """Tell of classes without an example: most often the labels begin at 1."""
    unused = np.setdiff1d(np.arange(labels.max() + 1), labels)
    if not len(unused):
        return
    which = f"class {unused[0]} has" if len(unused) == 1 else f"{len(unused)} of them have"
    advice = "number the classes 0, 1, … without gaps"
    if unused[0] == 0:
        advice = f"subtract {labels.min()} if the first class is {labels.min()}"
    note(
        f"{where}: y holds labels {labels.min()} to {labels.max()}, so there are "
        f"{labels.max() + 1} classes, and {which} no example; {advice}"
    )


def _labels(where: str, key: str, labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.dtype.kind not in "iu":
        raise DataError(f"{where}: {key} is {labels.dtype}; give integer labels 0, 1, …")
    if labels.min() < 0:
        raise DataError(f"{where}: {key} holds label {labels.min()}; give labels 0, 1, …")
    if labels.max() > _LARGEST_LABEL:
        raise DataError(
            f"{where}: {key} holds label {labels.max()}; number the classes 0, 1, … without gaps"
        )
    return labels.astype(np.int64, copy=False)
