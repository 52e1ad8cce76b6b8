"""Rows to predict: inputs of a known kind, labelled or not."""

from __future__ import annotations

import difflib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.arrays import inputs_as_stored
from pacbound.data.csv_file import csv_columns
from pacbound.data.json_lines import json_columns
from pacbound.data.npz import read_arrays
from pacbound.data.parquet_file import parquet_columns
from pacbound.data.table import Columns, inputs_of, is_missing, label_texts
from pacbound.errors import DataError, unknown_name

__all__ = ["ENDINGS", "Kind", "Rows", "has_rows", "inputs_of_kind", "read_rows"]

_READERS: Mapping[str, tuple[Callable[[Path], Columns], int]] = {
    ".csv": (csv_columns, 2),
    ".jsonl": (json_columns, 1),
    ".parquet": (parquet_columns, 1),
}
ENDINGS = (*_READERS, ".npz")


@dataclass(frozen=True)
class Kind:
    """What a network expects of its inputs, and what its classes are called.

    Arguments:
        columns: The names of the inputs; empty if they have none.
        label: The column of a table that holds the classes, if a row has one.
        class_names: By number; empty if the classes are numbers.
        dtype: uint8 or float32; empty if it is not known.
    """

    input_shape: tuple[int, ...]
    classes: int
    columns: tuple[str, ...] = ()
    label: str = ""
    class_names: tuple[str, ...] = ()
    dtype: str = ""

    def name_of(self, number: int) -> str:
        """The name of a class."""
        return self.class_names[number] if self.class_names else str(number)


@dataclass(frozen=True, eq=False)
class Rows:
    """Raw inputs, and their classes if the file has them."""

    inputs: NDArray[Any]  # (n, *input_shape)
    labels: NDArray[np.int64] | None  # (n,)


def has_rows(path: Path) -> bool:
    """Whether a file holds rows, and not training and test examples."""
    if path.suffix.lower() not in ENDINGS or not path.is_file():
        return False
    if path.suffix.lower() != ".npz" or not zipfile.is_zipfile(path):
        return True
    with zipfile.ZipFile(path) as archive:
        return "x_test.npy" not in archive.namelist()


def read_rows(path: Path, kind: Kind) -> Rows:
    """The rows of a file: one or more, of any classes.

    The columns of a table are matched by name, in any order. If the column of the classes is not
    there, or empty, the rows have no labels.
    """
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _of_arrays(path, kind)
    reader, first_row = _READERS[suffix]
    if not kind.columns:
        raise DataError(
            f"{path} has named columns, but the network was trained on inputs without names: "
            "give an .npz file with x"
        )
    columns = reader(path)
    _match(columns, kind, str(path))
    if not len(columns[kind.columns[0]]):
        raise DataError(f"{path} has no rows")
    inputs = inputs_of(columns, kind.columns, str(path), first_row)
    labels = columns.get(kind.label, ())
    missing = [row for row, cell in enumerate(labels) if is_missing(cell)]
    if len(missing) == len(labels):  # no such column, or an empty one
        return Rows(inputs, None)
    if missing:
        raise DataError(
            f"{path}, row {first_row + missing[0]}: the row has no label, but others have; fill "
            f"it in, or remove the column '{kind.label}'"
        )
    texts = label_texts(labels, str(path), first_row)
    return Rows(inputs, _numbers(texts, kind, str(path), first_row))


def _match(columns: Columns, kind: Kind, where: str) -> None:
    """Refuse a column that is missing or unknown."""
    known = [*kind.columns, kind.label]
    for name in kind.columns:
        if name not in columns:
            near = difflib.get_close_matches(name, [x for x in columns if x not in known], n=1)
            hint = f"; is it the column '{near[0]}'?" if near else ""
            raise DataError(f"{where} has no column '{name}', which the network needs{hint}")
    for name in columns:
        if name not in known:
            wrong = unknown_name("column", name, known)
            raise DataError(f"{where}: {wrong}; remove columns that the network does not know")


def _numbers(texts: Sequence[str], kind: Kind, where: str, first_row: int) -> NDArray[np.int64]:
    numbers = {text: number for number, text in enumerate(kind.class_names)}
    for row, text in enumerate(texts):
        if text not in numbers:
            wrong = unknown_name("class", text, kind.class_names)
            raise DataError(f"{where}, row {first_row + row}: {wrong}")
    return np.array([numbers[text] for text in texts], np.int64)


def _of_arrays(path: Path, kind: Kind) -> Rows:
    arrays = read_arrays(path, ("x",), ("y",))
    inputs = inputs_of_kind(str(path), arrays["x"], kind)
    if "y" not in arrays:
        return Rows(inputs, None)
    return Rows(inputs, _labels(path, arrays["y"], len(inputs), kind))


def inputs_of_kind(where: str, inputs: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """Inputs in the shape and the type that a network was trained on; one row may be alone.

    Arguments:
        where: The start of error messages.
    """
    if inputs.shape == kind.input_shape:
        inputs = inputs[None]
    if inputs.shape[1:] != kind.input_shape or not len(inputs):
        raise DataError(
            f"{where}: x has inputs of shape {inputs.shape[1:]}, the network is for "
            f"{kind.input_shape}"
        )
    inputs = inputs_as_stored(where, "x", inputs)
    if kind.dtype and str(inputs.dtype) != kind.dtype:
        # uint8 is divided by 255, float32 is not: the same numbers would be other inputs.
        raise DataError(
            f"{where}: x is {inputs.dtype}, but the network was trained on {kind.dtype}"
        )
    return inputs


def _labels(path: Path, labels: NDArray[Any], rows: int, kind: Kind) -> NDArray[np.int64]:
    if labels.shape != (rows,):
        raise DataError(f"{path}: y has shape {labels.shape}; give one label per row, ({rows},)")
    if labels.dtype.kind == "U" and kind.class_names:
        return _numbers([str(label) for label in labels], kind, str(path), 0)
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        raise DataError(f"{path}: y is not made of labels 0, 1, …")
    if labels.max() >= kind.classes:
        raise DataError(
            f"the checkpoint is for {kind.classes} classes, and {path} has {labels.max() + 1}: "
            f"y holds label {labels.max()}"
        )
    return labels.astype(np.int64)
