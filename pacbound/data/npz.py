"""A user's own data: an `.npz` file with x, y and perhaps x_test, y_test."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.dataset import Dataset
from pacbound.errors import BadInput

__all__ = ["read_arrays", "read_npz"]

_LARGEST_LABEL = 65_535  # a larger one is an identifier, and would ask for as many outputs
_UNREADABLE = (OSError, ValueError, EOFError, RuntimeError, MemoryError, zlib.error)


def read_npz(path: Path) -> Dataset:
    """The data set in the file: x (m, …), y (m,) and perhaps x_test, y_test."""
    arrays = read_arrays(path, ("x", "y"), ("x_test", "y_test"))
    if ("x_test" in arrays) != ("y_test" in arrays):
        raise BadInput(f"{path} has only one of x_test and y_test; give both, or neither")
    inputs, labels = _examples(path, arrays, "x", "y")
    classes = int(labels.max()) + 1
    if labels.min() == labels.max():
        raise BadInput(
            f"{path}: y holds the single class {labels.max()}; give at least two classes"
        )
    test_inputs = test_labels = None
    if "x_test" in arrays:
        test_inputs, test_labels = _examples(path, arrays, "x_test", "y_test")
        if test_inputs.shape[1:] != inputs.shape[1:]:
            raise BadInput(
                f"{path}: x_test has inputs of shape {test_inputs.shape[1:]}, x of shape "
                f"{inputs.shape[1:]}; give both the same shape"
            )
        if test_inputs.dtype != inputs.dtype:
            # as_floats would scale one and not the other.
            raise BadInput(
                f"{path}: x is {inputs.dtype} and x_test {test_inputs.dtype}; give both one type"
            )
        if test_labels.max() >= classes:
            raise BadInput(
                f"{path}: y_test holds label {test_labels.max()}, y only 0 to {classes - 1}; "
                "leave such test examples out"
            )
    return Dataset(path.stem, inputs, labels, test_inputs, test_labels, classes)


def read_arrays(
    path: Path, needed: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, NDArray[Any]]:
    """The arrays that the file must have, and those it may have."""
    how = f"numpy.savez(FILE, {', '.join(f'{key}=…' for key in needed)})"
    try:
        with path.open("rb") as stream:
            # Pickled objects could run code, so they are refused.
            file = np.load(stream, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise BadInput(f"{path} is a single array; save it with {how}")
            arrays = {key: file[key] for key in (*needed, *optional) if key in file}
    except (*_UNREADABLE, zipfile.BadZipFile) as error:
        raise BadInput(f"cannot read {path} as .npz: {error}; save it with numpy.savez") from error
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray):  # a member that is no array comes as bytes
            raise BadInput(f"{path}: {key} is not an array; save it with numpy.savez")
    for key in needed:
        if key not in arrays:
            raise BadInput(f"{path} has no array '{key}'; save it with {how}")
    return arrays


def _examples(
    path: Path, arrays: dict[str, NDArray[Any]], x: str, y: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Inputs and labels in the types of a data set, or what is wrong with them."""
    inputs, labels = arrays[x], arrays[y]
    if inputs.ndim < 2 or 0 in inputs.shape:
        raise BadInput(f"{path}: {x} has shape {inputs.shape}; give (examples, features …)")
    if labels.ndim != 1:
        raise BadInput(f"{path}: {y} has shape {labels.shape}; give one label per example, (m,)")
    if len(inputs) != len(labels):
        raise BadInput(
            f"{path}: {x} has {len(inputs)} examples and {y} {len(labels)} labels; "
            "give one label per example"
        )
    return _inputs(path, x, inputs), _labels(path, y, labels)


def _inputs(path: Path, key: str, inputs: NDArray[Any]) -> NDArray[Any]:
    if inputs.dtype == np.uint8:
        return inputs
    if inputs.dtype.kind != "f":
        raise BadInput(f"{path}: {key} is {inputs.dtype}; give uint8 pixels or float32")
    with np.errstate(over="ignore"):  # what overflows float32 is reported below
        floats = inputs.astype(np.float32, copy=False)
    bad = ~np.isfinite(floats)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise BadInput(
            f"{path}: {key}{list(place)} is {inputs[place]}, not a finite float32 "
            f"({bad.sum()} such values); clean the data"
        )
    return floats


def _labels(path: Path, key: str, labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.dtype.kind not in "iu":
        raise BadInput(f"{path}: {key} is {labels.dtype}; give integer labels 0, 1, …")
    if labels.min() < 0:
        raise BadInput(f"{path}: {key} holds label {labels.min()}; give labels 0, 1, …")
    if labels.max() > _LARGEST_LABEL:
        raise BadInput(
            f"{path}: {key} holds label {labels.max()}; number the classes 0, 1, … without gaps"
        )
    return labels.astype(np.int64, copy=False)
