"""Predictions that were made elsewhere: in a file, or as arrays. Nothing here imports torch."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import DataError, SettingError, unknown_name
from pacbound.files import file_digest
from pacbound.fixed.case import Case, Contents
from pacbound.fixed.classes import Classes, cells_of, classes_among, groups_of, written_alike
from pacbound.fixed.columns import KNOWN, Columns, read_columns
from pacbound.predictors.claims import ExampleCosts
from pacbound.predictors.judging import Judged, Outputs

__all__ = ["SUM", "array_digest", "case_of_file", "ensure_probabilities"]

SUM = 0.01  # how far from 1 rounded probabilities may add up
PREFIX = "p_"  # of a column of probabilities


def case_of_file(path: Path, group: str = "") -> Case:
    """The predictions in a file, with their labels.

    Columns: `label`, and `prediction` or probabilities `p_0`, `p_1`, … (or `p_` and the name of a
    class); if wanted `confidence`, `group`, `id` and `cost`.

    Arguments:
        group: The column of the groups, if it is not `group`.
    """
    columns, first = read_columns(path)
    try:
        return _case(path, columns, first, group)
    except (DataError, SettingError) as error:
        raise DataError(f"{path}: {error}") from error


def _case(path: Path, columns: Columns, first: int, group: str) -> Case:
    probable = _ensure_known(columns, group)
    truth, names, guesses = written_alike(
        cells_of(columns["label"], "label"),
        [name.removeprefix(PREFIX).strip() for name in probable],
        cells_of(columns.get("prediction", []), "prediction"),
    )
    classes = _classes(names, truth, guesses)
    labels = classes.labels(truth, first)
    if probable and not classes.names:  # by number, wherever the column stands
        probable = [probable[names.index(str(number))] for number in range(classes.count)]
    given = classes.numbers(guesses, "prediction", first) if "prediction" in columns else None
    outputs = _outputs(columns, probable, classes, given, first)
    groups = columns.get(group or "group")
    ids = tuple(_texts(columns["id"], first)) if "id" in columns else None
    return Case(
        name=path.stem,
        labels=labels,
        classes=classes,
        outputs=outputs,
        contents=Contents(ids=ids),
        source="predictions",
        sha256=file_digest(path),
        groups=() if groups is None else groups_of(groups),
        costs=ExampleCosts.of("cost", list(columns["cost"])) if "cost" in columns else None,
        settings=classes.recorded,
    )


def _ensure_known(columns: Columns, group: str) -> list[str]:
    """The columns of probabilities; DataError if another column is unknown or missing."""
    known = [group if group and name == "group" else name for name in KNOWN]
    if group and group not in columns:
        raise unknown_name("column", group, columns)
    probable = [name for name in columns if name.startswith(PREFIX) and name not in known]
    for name in columns:
        if name not in known and name not in probable:
            raise unknown_name("column", name, [*known, f"{PREFIX}0"])
    if "label" not in columns:
        raise DataError("it has no column 'label'")
    if "prediction" not in columns and not probable:
        raise DataError(f"it has no column 'prediction' and no probabilities '{PREFIX}0', …")
    if probable and "confidence" in columns:
        raise DataError("the largest probability is the confidence: leave out 'confidence'")
    return probable


def _classes(names: list[str], truth: list[str], guesses: list[str]) -> Classes:
    """Of the columns of probabilities in their order, or of labels and predictions together."""
    if not names:
        return classes_among("it", truth, guesses)
    if len(names) < 2 or len(set(names)) < len(names):
        raise DataError("give a column of probabilities for each of at least two classes")
    numbered = [str(number) for number in range(len(names))]
    return (
        Classes(len(names))
        if sorted(names) == sorted(numbered)
        else Classes(len(names), tuple(names))
    )


def _outputs(
    columns: Columns,
    probable: list[str],
    classes: Classes,
    given: NDArray[np.int64] | None,
    first: int,
) -> Outputs:
    if not probable:
        confidence = None
        if "confidence" in columns:
            confidence = _numbers(columns["confidence"], "confidence", first)
            _ensure_inside(confidence[:, None], ["confidence"], first)
        return Outputs(classes.count, given, confidence=confidence)
    table = np.stack([_numbers(columns[name], name, first) for name in probable], 1)
    ensure_probabilities(table, probable, first)
    if given is not None:
        _ensure_largest(table, given, first)
    return Outputs(classes.count, scores=table, are_probabilities=True)


def _numbers(cells: Any, name: str, first: int) -> NDArray[np.float64]:
    """A column as numbers."""
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except (TypeError, ValueError):
        for number, cell in enumerate(cells):
            try:
                float(cell)
            except (TypeError, ValueError):
                raise DataError(
                    f"row {first + number}: {name} is '{cell!s:.40}', not a number"
                ) from None
        raise


def ensure_probabilities(table: NDArray[np.float64], names: list[str], first: int) -> None:
    """DataError unless every row has numbers from 0 to 1 that add up to 1."""
    _ensure_inside(table, names, first)
    sums = table.sum(1)
    off = np.flatnonzero(np.abs(sums - 1) > SUM)
    if len(off):
        raise DataError(
            f"row {first + off[0]}: the probabilities add up to {sums[off[0]]:.4g}, not to 1 "
            f"({len(off)} such rows)"
        )


def _ensure_inside(table: NDArray[np.float64], names: list[str], first: int) -> None:
    odd = np.argwhere(~((table >= 0) & (table <= 1)))
    if len(odd):
        row, column = odd[0]
        raise DataError(
            f"row {first + row}: {names[column]} is {table[row, column]:.6g}, not a number from 0 "
            f"to 1 ({len(odd)} such cells)"
        )


def _ensure_largest(table: NDArray[np.float64], given: NDArray[np.int64], first: int) -> None:
    """DataError unless each prediction is the class of the largest probability, or tied with it."""
    missing = np.flatnonzero(given < 0)
    if len(missing):
        raise DataError(f"row {first + missing[0]} has probabilities and no prediction")
    possible = Judged.of(table, given).possible
    off = np.flatnonzero(~possible[np.arange(len(given)), given])
    if len(off):
        raise DataError(
            f"row {first + off[0]}: the prediction is not the class of the largest probability "
            f"({len(off)} such rows): leave out one of the two"
        )


def _texts(cells: Any, first: int) -> list[str]:
    """Ids as they are written; DataError if one is empty."""
    texts = [str(cell) for cell in (cells.tolist() if isinstance(cells, np.ndarray) else cells)]
    if not all(texts):
        raise DataError(f"row {first + texts.index('')} has no id")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"an id is not a text: {error.reason}") from error
    return texts


def array_digest(array: NDArray[Any]) -> str:
    """The digest of an array as `numpy.save` writes it, so that sha256sum of such a file agrees.

    Objects are written as texts.
    """
    if array.dtype.hasobject:
        array = np.array(cells_of(array.ravel(), "predictions"), str).reshape(array.shape)
    stream = io.BytesIO()
    plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    np.save(stream, plain, allow_pickle=False)
    return hashlib.sha256(stream.getvalue()).hexdigest()
