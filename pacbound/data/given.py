"""Data as it is given in Python: arrays, tensors, a map-style Dataset, a path or a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pacbound.data.arrays import dataset_of
from pacbound.data.dataset import Dataset
from pacbound.data.loading import load
from pacbound.errors import DataError

__all__ = ["dataset_given"]

NAMES = ("x", "y", "x_test", "y_test")


def dataset_given(data: Any, label: str = "") -> Dataset:
    """The data set in what a user gives.

    Arguments:
        data: A pacbound Dataset; (x, y) or (x, y, x_test, y_test) as arrays or tensors; a map-style
            Dataset of (input, label) pairs, which is read into memory once; or a file or a name.
        label: The column that holds the classes, where it is a table.
    """
    if isinstance(data, Dataset):
        return data
    if isinstance(data, str | Path):
        return load(str(data), label=label)
    if isinstance(data, tuple):
        if len(data) not in (2, 4):
            raise DataError(f"data: give (x, y) or (x, y, x_test, y_test), not {len(data)} parts")
        parts = zip(NAMES, data, strict=False)
        return dataset_of("arrays", {name: _array(part, name) for name, part in parts}, "data")
    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        return _materialised(data)
    raise DataError(
        f"data: {type(data).__name__} cannot be used; give arrays (x, y), a map-style Dataset, a "
        "file or the name of a data set"
    )


def _array(values: Any, name: str) -> NDArray[Any]:
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    odd = DataError(f"data: {name} is no array of numbers (rows of different lengths?)")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise odd from error
    if array.dtype == object:
        raise odd
    return array


def _materialised(data: Any) -> Dataset:
    """Every example of a map-style Dataset, in its order, once."""
    inputs: list[NDArray[Any]] = []
    labels: list[int] = []
    if not len(data):
        raise DataError("data: the Dataset is empty")
    for place in range(len(data)):
        pair = data[place]
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError(f"data: example {place} is not an (input, label) pair")
        value, label = pair
        if not isinstance(value, Tensor | np.ndarray):
            raise DataError(
                f"data: the input of example {place} is {type(value).__name__}; give a tensor or "
                "an array, by a transform such as ToTensor"
            )
        array = _array(value, f"the input of example {place}")
        if inputs and (array.shape, array.dtype) != (inputs[0].shape, inputs[0].dtype):
            raise DataError(
                f"data: example {place} is {array.dtype} of shape {array.shape}, the first "
                f"{inputs[0].dtype} of {inputs[0].shape}; bring all to one size and type"
            )
        number = label.item() if isinstance(label, Tensor) and label.numel() == 1 else label
        if isinstance(number, bool | np.bool_) or not isinstance(number, int | np.integer):
            raise DataError(f"data: the label of example {place} is {label!r}; give 0, 1, …")
        inputs.append(array)
        labels.append(int(number))
    if not inputs[0].ndim:
        inputs = [array.reshape(1) for array in inputs]
    arrays = {"x": np.stack(inputs), "y": np.array(labels, np.int64)}
    return dataset_of(type(data).__name__, arrays, "data")
