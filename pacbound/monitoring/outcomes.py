"""Labelled outcomes of a deployed predictor: one row for each input, in the order of arrival.

Columns: `label` and `prediction` (classes), or `error` (0 or 1); `group`; `answered` (0 or 1) of a
predictor that abstains, or predictions that are empty, NaN or -1 where it does; `cost`, from 0 to 1
(`cost:NAME` if the certificate names several). Other columns are ignored.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.certificate.format import Certificate
from pacbound.data.csv_file import separator, unreadable
from pacbound.errors import DataError, FileError
from pacbound.monitoring.classes import class_reader, whole
from pacbound.monitoring.sequential import MOST_OUTCOMES, SCALE

__all__ = [
    "NONE",
    "Outcomes",
    "Source",
    "columns_of",
    "group_numbers",
    "read_outcomes",
    "with_error",
]

BLOCK = 2**16  # rows that are read at a time
NONE = -1  # no class, no group that a claim is about, or no known error
NOTHING = ("", "nan", "NaN", "None", "<NA>")  # as files and data frames write what is not there
Integers = NDArray[np.int64]
Source = str | os.PathLike[str] | Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The columns that a certificate's claims can use, as whole numbers, each (n,)."""

    columns: dict[str, Integers]
    where: str = "outcomes"

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def digest(self, start: int, stop: int, before: str) -> str:
        """The running digest after rows start to stop: each row is hashed after all before it."""
        rows = np.stack([column[start:stop] for column in self.columns.values()], 1)
        content, width = rows.astype("<i8").tobytes(), 8 * rows.shape[1]
        digest = bytes.fromhex(before)
        for place in range(0, len(content), width):
            digest = hashlib.sha256(digest + content[place : place + width]).digest()
        return digest.hex()

    @property
    def errors(self) -> Integers:
        """1 where the prediction was wrong, NONE where nobody knows."""
        if "error" in self.columns:
            return self.columns["error"]
        label, prediction = self.columns["label"], self.columns["prediction"]
        return np.where(prediction == NONE, NONE, (label != prediction).astype(np.int64))


def with_error(columns: Collection[str]) -> set[str]:
    """The names of columns, and `error` if it follows from others."""
    names = set(columns)
    return names | {"error"} if {"label", "prediction"} <= names else names


def group_numbers(certificate: Certificate) -> dict[str, int]:
    """The number of each group that a claim is about."""
    names = {claim.group for claim in certificate.claims if claim.group is not None}
    return {name: number for number, name in enumerate(sorted(names))}


def columns_of(certificate: Certificate) -> dict[str, Callable[[str], int]]:
    """The columns that the claims can use, and how to read their cells."""
    read_class = class_reader(certificate)
    groups = group_numbers(certificate)
    abstains = bool(certificate.model.answer_above)

    def read_truth(text: str) -> int:
        number = whole(text)
        if number not in (0, 1):
            raise ValueError("0 or 1")
        return number

    def read_group(text: str) -> int:
        if not text:
            raise ValueError("the name of a group")
        return groups.get(text, NONE)

    found: dict[str, Callable[[str], int]] = {
        "label": read_class,
        # `pacbound predict` writes -1 where a predictor abstains.
        "prediction": _or_none(read_class, *NOTHING, "-1", "-1.0") if abstains else read_class,
        "error": _or_none(read_truth, *NOTHING) if abstains else read_truth,
    }
    if groups:
        found["group"] = read_group
    if abstains:
        found["answered"] = read_truth
    costs = sorted({claim.cost for claim in certificate.claims if claim.cost is not None})
    return found | {(f"cost:{name}" if len(costs) > 1 else "cost"): _cost for name in costs}


def _or_none(read: Callable[[str], int], *nothing: str) -> Callable[[str], int]:
    """A reader that takes these words as no value, unless they are one."""

    def read_or_none(text: str) -> int:
        try:
            return read(text)
        except ValueError:
            if text in nothing:
                return NONE
            raise

    return read_or_none


def _cost(text: str) -> int:
    """A cost in units of 1/SCALE, rounded down: that is on the safe side."""
    with suppress(InvalidOperation):
        number = Decimal(text) if text.isascii() and "_" not in text else Decimal("nan")
        if number.is_finite() and 0 <= number <= 1:
            return int(number * SCALE)
    raise ValueError("a cost from 0 to 1")


class _Cells(dict[str, int]):
    """The numbers of cells, each text read once."""

    def __init__(self, read: Callable[[str], int]) -> None:
        super().__init__()
        self.read = read

    def __missing__(self, text: str) -> int:
        self[text] = number = self.read(text.strip())
        return number


def read_outcomes(source: Source, certificate: Certificate) -> Outcomes:
    """Outcomes from a CSV file, or from columns by name (a mapping or a data frame)."""
    readers = columns_of(certificate)
    if isinstance(source, str | os.PathLike):
        outcomes = _read_file(Path(source), readers)
    else:
        outcomes = _read_mapping(source, readers)
    if "answered" in readers:
        outcomes = _with_answered(outcomes, list(readers))
    _check(outcomes)
    return outcomes


def _with_answered(outcomes: Outcomes, order: list[str]) -> Outcomes:
    """The outcomes with a column `answered`, if it follows from predictions that are not there.

    If none is missing, the predictor may have answered always, or the classes that it would have
    given are there too: then nothing follows.
    """
    columns = outcomes.columns
    telling = columns.get("prediction", columns.get("error"))
    if "answered" in columns or telling is None or not (telling == NONE).any():
        return outcomes
    found = columns | {"answered": (telling != NONE).astype(np.int64)}
    return Outcomes({name: found[name] for name in order if name in found}, outcomes.where)


def _used(header: Sequence[str], readers: Mapping[str, Any], where: str) -> list[str]:
    """The names that can be used, in a fixed order."""
    used = [name for name in readers if name in header]
    if not used:
        raise DataError(
            f"{where} has none of the columns {', '.join(readers)}; it has "
            f"{', '.join(header)[:200]}"
        )
    for name in used:
        if list(header).count(name) > 1:
            raise DataError(f"{where}: two columns are named '{name}'")
    return used


def _read_file(path: Path, readers: Mapping[str, Callable[[str], int]]) -> Outcomes:
    if path.exists() and not path.is_file():
        raise FileError(f"cannot read {path}: it is not a regular file")
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.reader(stream, strict=True, delimiter=separator(stream))
            header = [name.strip() for name in next(rows, [])]
            if not header:
                raise DataError(f"{path} is empty; give a header and rows")
            used = _used(header, readers, str(path))
            blocks = list(_blocks(_trimmed(rows), header, used, readers, path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"cannot read {path}: {unreadable(error)}") from error
    columns = [np.concatenate([block[i] for block in blocks]) for i in range(len(used))]
    return Outcomes(dict(zip(used, columns, strict=True)), str(path))


def _trimmed(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows without blank lines at the end; those between others stay, to be refused."""
    blank = 0
    for row in rows:
        if not row:
            blank += 1
            continue
        yield from itertools.repeat([], blank)
        blank = 0
        yield row


def _blocks(
    rows: Iterator[list[str]],
    header: list[str],
    used: list[str],
    readers: Mapping[str, Callable[[str], int]],
    path: Path,
) -> Iterator[list[Integers]]:
    """The used columns, block by block; at least one block."""
    cells = [_Cells(readers[name]) for name in used]
    places = [header.index(name) for name in used]
    first = 2  # the row of the file
    while True:
        block = list(itertools.islice(rows, BLOCK))
        for number, row in enumerate(block, first):
            if len(row) != len(header):
                raise DataError(
                    f"{path}, row {number}: {len(row)} cells under a header of {len(header)}"
                )
        yield [
            _numbers([row[place] for row in block], read, f"{path}, row", first, name)
            for place, read, name in zip(places, cells, used, strict=True)
        ]
        first += len(block)
        if len(block) < BLOCK:
            return


def _numbers(texts: Sequence[str], cells: _Cells, where: str, first: int, name: str) -> Integers:
    try:
        return np.fromiter((cells[text] for text in texts), np.int64, len(texts))
    except ValueError as error:
        text = next(text for text in texts if text not in cells)
        number = first + list(texts).index(text)
        raise DataError(f"{where} {number}: {name} '{text.strip()[:30]}' is not {error}") from None


def _read_mapping(source: Any, readers: Mapping[str, Callable[[str], int]]) -> Outcomes:
    if not hasattr(source, "keys"):
        raise DataError("outcomes must be a CSV file, a mapping of columns or a data frame")
    used = _used([str(name) for name in source.keys()], readers, "outcomes")  # noqa: SIM118
    found: dict[str, Integers] = {}
    for name in used:
        texts = [_text(cell) for cell in _cells(source[name], name)]
        found[name] = _numbers(texts, _Cells(readers[name]), "outcomes, row", 1, name)
    lengths = {name: len(column) for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise DataError(f"the columns have different numbers of rows: {shown}")
    return Outcomes(found)


def _cells(column: Any, name: str) -> list[Any]:
    if hasattr(column, "tolist"):
        found = column.tolist()
    else:
        found = list(column) if isinstance(column, Iterable) else None
    if not isinstance(found, list) or isinstance(column, str | bytes):
        raise DataError(f"outcomes: the column {name} must be a list of values, not {column!r:.40}")
    return found


def _text(cell: Any) -> str:
    if isinstance(cell, bool | np.bool_):
        return str(int(cell))
    return "" if cell is None else str(cell)


def _check(outcomes: Outcomes) -> None:
    """Refuse rows that contradict themselves, and more rows than the sums hold."""
    columns, where = outcomes.columns, outcomes.where
    if len(outcomes) > MOST_OUTCOMES:
        raise DataError(f"{where} has over {MOST_OUTCOMES} rows: begin a new state")

    def refuse(wrong: NDArray[np.bool_], words: str) -> None:
        if wrong.any():
            first = 2 if outcomes.where != "outcomes" else 1
            raise DataError(f"{where}, row {int(np.argmax(wrong)) + first}: {words}")

    for name in ("prediction", "error"):
        if name in columns and (columns[name] == NONE).any():
            answered = columns.get("answered", np.ones(len(outcomes), np.int64))
            refuse((columns[name] == NONE) & (answered == 1), f"it is answered and has no {name}")
    if {"label", "prediction", "error"} <= set(columns):
        known = (columns["error"] != NONE) & (columns["prediction"] != NONE)
        wrong = (columns["label"] != columns["prediction"]).astype(np.int64)
        refuse(known & (columns["error"] != wrong), "error contradicts label and prediction")
