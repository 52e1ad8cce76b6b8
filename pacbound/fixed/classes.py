"""Classes as users write them, numbers or names, and their numbers from 0."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.certificate.class_names import recorded_names
from pacbound.errors import DataError

__all__ = ["NONE", "Classes", "cells_of", "classes_among", "groups_of", "written_alike"]

ADVICE = (
    ". Keep such examples, they are errors: give a column of probabilities 0 for the class, or the "
    "predicted classes instead of the scores"
)
NONE = -1  # in place of a class: nothing was predicted
LARGEST = 65_535  # a larger number is probably an identifier
MISSING = {"", "nan", "none", "null", "na", "n/a", "?"}
WHOLE = re.compile(r"(-?[0-9]{1,18})(\.0*)?")
CANONICAL = re.compile(r"0|-?[1-9][0-9]*")  # the one way to write a whole number
TRUTHS = ({"False": "0", "True": "1"}, {"false": "0", "true": "1"})


@dataclass(frozen=True)
class Classes:
    """The classes of a predictor: how many, and their names if they are not plain numbers."""

    count: int
    names: tuple[str, ...] = ()

    @property
    def recorded(self) -> dict[str, str]:
        """The names as a certificate's setting; nothing if classes are plain numbers."""
        return recorded_names(self.names)

    def numbers(self, cells: Sequence[str], what: str, first_row: int) -> NDArray[np.int64]:
        """The number of each cell's class, from 0; `NONE` for a missing one.

        Arguments:
            what: The column, for error messages.
            first_row: The number of the first row, for error messages.
        """
        known = {name: number for number, name in enumerate(self.names)}
        if not self.names:
            known = {str(number): number for number in range(self.count)}
        table = {cell: known.get(cell, NONE) for cell in set(cells)}
        odd = {cell for cell, number in table.items() if number == NONE and not _is_missing(cell)}
        if odd:
            row, cell = next((i, x) for i, x in enumerate(cells) if x in odd)
            named = ", ".join(self.names[:10]) or f"0 to {self.count - 1}"
            raise DataError(
                f"row {first_row + row}: {what} '{cell:.40}' is not one of the {self.count} "
                f"classes ({named:.200}){ADVICE if what == 'label' else ''}"
            )
        return np.array([table[cell] for cell in cells], np.int64)

    def labels(self, cells: Sequence[str], first_row: int) -> NDArray[np.int64]:
        """The numbers of true classes; none may be missing."""
        found = self.numbers(cells, "label", first_row)
        if len(found) and found.min() < 0:
            raise DataError(f"row {first_row + int(found.argmin())} has no label")
        return found


def cells_of(values: Any, what: str) -> list[str]:
    """One text per example. Numbers that are equal have equal texts; texts stay as they are.

    Arguments:
        what: The column, for error messages.
    """
    array = values if isinstance(values, list) else np.asarray(values)
    if isinstance(array, np.ndarray) and array.ndim != 1:
        raise DataError(f"{what} has shape {array.shape}: give one for each example, (n,)")
    listed = array if isinstance(array, list) else array.tolist()
    try:
        # 1, 1.0 and True are equal, and so are their texts.
        table = {cell: _text(cell) for cell in set(listed)}
    except TypeError as error:
        raise DataError(f"{what} must be numbers or texts, one for each example") from error
    return [table[cell] for cell in listed]


def groups_of(values: Iterable[Any]) -> tuple[str, ...]:
    """The names of groups: 1 and 1.0 are one group, and spaces around a name are none of it."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return tuple(str(x) if isinstance(x, bool | np.bool_) else _text(x) for x in listed)


def _text(cell: Any) -> str:
    if isinstance(cell, bytes):
        try:
            cell = cell.decode()
        except UnicodeDecodeError as error:
            raise DataError(f"{cell!r:.40} is not a text of UTF-8") from error
    if isinstance(cell, bool | np.bool_ | float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return "" if cell is None else str(cell).strip()


def written_alike(*columns: Sequence[str]) -> list[list[str]]:
    """Columns of classes in which equal classes have equal texts.

    Texts are compared as they are. Whole numbers are the exception, if every cell of every column
    is one: then a column of 0, 1, … is the same as one of 0.0, 1.0, …, and as one of False, True.
    """
    found = [{cell for cell in column if not _is_missing(cell)} for column in columns]
    plain = [_plainly(cells) for cells in found]
    texts = {text for table in plain for text in table.values()}
    named = not any(WHOLE.fullmatch(cell) for cells in found for cell in cells)
    if named or not all(WHOLE.fullmatch(text) for text in texts):
        return [list(column) for column in columns]
    numbers: dict[int, str] = {}
    for text in sorted(texts):
        first = numbers.setdefault(int(text.partition(".")[0]), text)
        if first != text:
            raise DataError(
                f"'{first:.40}' and '{text:.40}' may be one class or two: write every class in one "
                "way, or with a letter if they are codes"
            )
    whole = {text: str(number) for number, text in numbers.items()}
    return [
        [whole[table[cell]] if cell in table else cell for cell in column]
        for table, column in zip(plain, columns, strict=True)
    ]


def _plainly(cells: set[str]) -> dict[str, str]:
    """Texts of a column, as whole numbers if all are written in one way that is common."""
    for table in TRUTHS:
        if cells <= table.keys():
            return {cell: table[cell] for cell in cells}
    if all(cell.endswith(".0") and CANONICAL.fullmatch(cell[:-2]) for cell in cells):
        return {cell: cell[:-2] for cell in cells}
    return {cell: cell for cell in cells}


def _is_missing(cell: str) -> bool:
    return cell.lower() in MISSING


def classes_among(where: str, *columns: Sequence[str]) -> Classes:
    """The classes that occur in columns of cells.

    Whole numbers are the numbers of the classes, from 0. Anything else is a name; names are
    numbered in ascending order.
    """
    found = {cell for column in columns for cell in set(column) if not _is_missing(cell)}
    if not found:
        raise DataError(f"{where} has no labels")
    if not all(WHOLE.fullmatch(cell) for cell in found):
        if len(found) < 2:
            raise DataError(f"{where} holds the single class '{found.pop():.40}': give two")
        return Classes(len(found), tuple(sorted(found)))
    numbers = sorted(map(int, found))
    if numbers[0] < 0:
        raise DataError(f"{where} holds the class {numbers[0]}: number the classes 0, 1, …")
    if numbers[-1] > LARGEST:
        raise DataError(
            f"{where} holds the class {numbers[-1]}: number the classes 0, 1, … without gaps, or "
            "give them names"
        )
    return Classes(max(2, numbers[-1] + 1))
