"""Data given in Python: arrays, tensors, a Dataset, a DataLoader, a path or a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from pacbound.data.arrays import dataset_of
from pacbound.data.dataset import Dataset
from pacbound.data.loading import load
from pacbound.errors import DataError

__all__ = ["dataset_given"]

NAMES = ("x", "y", "x_test", "y_test")
LABELS = ("label", "labels", "y", "target")  # dictionary keys that may hold the classes


def dataset_given(data: Any, label: str = "") -> Dataset:
    """The data set for the data that a user gives.

    Arguments:
        data: A pacbound Dataset; (x, y) or (x, y, x_test, y_test) as arrays or tensors; a map-style
            Dataset of (input, label) pairs or of dictionaries; a DataLoader of them, which is
            read into memory once; a file; or a name.
        label: The column of a table, or the key of dictionaries, that holds the classes.
    """
    if isinstance(data, Dataset):
        return data
    if isinstance(data, str | Path):
        return load(str(data), label=label)
    if isinstance(data, DataLoader):
        return _materialised(type(data.dataset).__name__, _unbatched(data), label)
    is_list = isinstance(data, list) and all(isinstance(x, np.ndarray | Tensor) for x in data)
    if isinstance(data, tuple) or (is_list and data):
        if len(data) not in (2, 4):
            raise DataError(f"data: give (x, y) or (x, y, x_test, y_test), not {len(data)} parts")
        parts = zip(NAMES, data, strict=False)
        return dataset_of("arrays", {name: _array(part, name) for name, part in parts}, "data")
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not isinstance(data, dict):
        examples = (data[place] for place in range(len(data)))
        return _materialised(type(data).__name__, examples, label)
    raise DataError(
        f"data: {type(data).__name__} cannot be used; give arrays (x, y), a map-style Dataset, a "
        "DataLoader, a file or the name of a data set"
    )


def _unbatched(loader: DataLoader[Any]) -> Iterator[Any]:
    """The examples of a loader's batches, one by one."""
    if loader.drop_last:
        raise DataError(
            "data: the DataLoader drops its last batch, but every example counts: "
            "give drop_last=False"
        )
    for batch in loader:
        if isinstance(batch, Mapping):
            parts = list(batch.values())
            for row in zip(*parts, strict=True):
                yield dict(zip(batch, row, strict=True))
        elif isinstance(batch, tuple | list) and len(batch) == 2:
            yield from zip(*batch, strict=True)
        else:
            raise DataError("data: the DataLoader's batches are not (inputs, labels) pairs")


def _pair(example: Any, place: int, label: str) -> tuple[Any, Any]:
    """The input and the label of an example: a pair, or a dictionary with two keys."""
    if isinstance(example, Mapping):
        found = [key for key in ([label] if label else LABELS) if key in example]
        if not found:
            raise DataError(
                f"data: example {place} has the keys {', '.join(map(str, example))}; name the key "
                "of the classes with label="
            )
        rest = [key for key in example if key != found[0]]
        if len(rest) != 1:
            raise DataError(
                f"data: example {place} has the inputs {', '.join(map(str, rest))}; keep one of "
                "them"
            )
        return example[rest[0]], example[found[0]]
    if not isinstance(example, tuple | list) or len(example) != 2:
        raise DataError(f"data: example {place} is not an (input, label) pair")
    return example[0], example[1]


def _array(values: Any, name: str) -> NDArray[Any]:
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    odd = DataError(f"data: {name} is not an array of numbers (rows of different lengths?)")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise odd from error
    if array.dtype == object:
        raise odd
    return array


def _materialised(name: str, examples: Iterable[Any], label_key: str) -> Dataset:
    """The examples in order, each once."""
    inputs: list[NDArray[Any]] = []
    labels: list[int] = []
    for place, example in enumerate(examples):
        value, label = _pair(example, place, label_key)
        if isinstance(value, list) or hasattr(value, "__array_interface__"):
            value = _array(value, f"the input of example {place}")
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
    if not inputs:
        raise DataError("data: the Dataset is empty")
    if not inputs[0].ndim:
        inputs = [array.reshape(1) for array in inputs]
    arrays = {"x": np.stack(inputs), "y": np.array(labels, np.int64)}
    return dataset_of(name, arrays, "data")
