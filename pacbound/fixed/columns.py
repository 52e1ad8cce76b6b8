"""Read a file of predictions into named columns: `.csv`, `.jsonl` or `.npz`."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pacbound.data.csv_file import TIMES, separator, unreadable
from pacbound.data.npz import read_arrays
from pacbound.errors import DataError, FileError, PacboundError, SettingError
from pacbound.memory import ensure_memory

__all__ = ["KNOWN", "PROBABILITIES", "READERS", "Columns", "read_columns"]

Columns = dict[str, Any]  # name → cells, (n,); `PROBABILITIES` → (n, classes)
KNOWN = ("label", "prediction", "confidence", "group", "id", "cost")
PROBABILITIES = "probabilities"


def read_columns(path: Path) -> tuple[Columns, int]:
    """The columns of a file, and the number of its first row."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SettingError(f"{path} is not a file of predictions: give {', '.join(READERS)}")
    if path.exists() and not path.is_file():
        raise FileError(f"cannot read {path}: it is not a regular file")
    try:
        ensure_memory(TIMES * path.stat().st_size, str(path))
        return reader(path)
    except PacboundError:
        raise
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        raise FileError(f"cannot read {path}: {unreadable(error)}") from error


def _csv(path: Path) -> tuple[Columns, int]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True, delimiter=separator(stream))
        header = [name.strip() for name in next(reader, [])]
        rows = [row for row in reader if row]
    if not header or not rows:
        raise DataError(f"{path} is empty: give a header and a row for each example")
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise DataError(f"{path}: two columns are named '{repeated[0]:.40}'")
    if set(map(len, rows)) != {len(header)}:
        number, row = next((i, row) for i, row in enumerate(rows) if len(row) != len(header))
        raise DataError(
            f"{path}, row {number + 2}: {len(row)} cells under a header of {len(header)}"
        )
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)), 2


def _jsonl(path: Path) -> tuple[Columns, int]:
    """One object per line. `probabilities` may be a list, or an object by class."""
    with path.open(encoding="utf-8-sig") as stream:
        rows = [json.loads(line) for line in stream if line.strip()]
    if not rows:
        raise DataError(f"{path} is empty: give one JSON object per line")
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number + 1} is not a JSON object")
        if row.keys() != rows[0].keys():
            raise DataError(f"{path}, line {number + 1} has other names than the first line")
    columns: Columns = {name: [row[name] for row in rows] for name in rows[0]}
    for name, cells in columns.items():
        odd = [number for number, cell in enumerate(cells) if isinstance(cell, list | dict)]
        if odd and name != PROBABILITIES:
            raise DataError(f"{path}, line {odd[0] + 1}: {name} is not a number or a text")
    given = columns.pop(PROBABILITIES, None)
    return _joined(path, columns, {} if given is None else _by_class(path, given)), 1


def _joined(path: Path, columns: Columns, probabilities: Columns) -> Columns:
    both = columns.keys() & probabilities.keys()
    if both:
        raise DataError(f"{path} has {min(both)} and {PROBABILITIES}: leave out one of them")
    return columns | probabilities


def _by_class(path: Path, given: Sequence[Any]) -> Columns:
    first = given[0]
    if isinstance(first, dict) and all(
        isinstance(x, dict) and x.keys() == first.keys() for x in given
    ):
        return {f"p_{name}": [row[name] for row in given] for name in first}
    if isinstance(first, list) and all(isinstance(x, list) and len(x) == len(first) for x in given):
        return {f"p_{k}": [row[k] for row in given] for k in range(len(first))}
    raise DataError(
        f"{path}: {PROBABILITIES} must be a list, or an object by class, of one length in all lines"
    )


def _npz(path: Path) -> tuple[Columns, int]:
    """Arrays of one length: label, prediction, …; probabilities is (n, classes)."""
    arrays: dict[str, NDArray[Any]] = read_arrays(path, ("label",), _members(path))
    if not len(arrays["label"]):
        raise DataError(f"{path} is empty: give a label for each example")
    probabilities = arrays.pop(PROBABILITIES, None)
    columns: Columns = dict(arrays)
    for name, values in columns.items():
        if values.ndim != 1 or len(values) != len(arrays["label"]):
            raise DataError(
                f"{path}: {name} has shape {values.shape}, label {arrays['label'].shape}: give one "
                "of each for every example"
            )
    if probabilities is not None:
        if probabilities.ndim != 2 or len(probabilities) != len(arrays["label"]):
            raise DataError(
                f"{path}: {PROBABILITIES} has shape {probabilities.shape}: give "
                f"({len(arrays['label'])}, classes)"
            )
        columns = _joined(path, columns, {f"p_{k}": p for k, p in enumerate(probabilities.T)})
    return columns, 1


def _members(path: Path) -> list[str]:
    """The names of all arrays but the labels, also unknown ones: these are refused later."""
    with suppress(OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
        return [name for name in dict.fromkeys(names) if name != "label"]
    return []  # reading the file says what is wrong


READERS = {".csv": _csv, ".jsonl": _jsonl, ".npz": _npz}
