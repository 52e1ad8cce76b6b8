"""Classes as users write them, numbers or names, and their numbers from 0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import DataError

__all__ = ["NONE", "Classes", "cells_of", "classes_among"]

NONE = -1  # in place of a class: nothing was predicted
LARGEST = 65_535  # a larger number is probably an identifier
MISSING = {"", "nan", "none", "null", "na", "n/a", "?"}
WHOLE = re.compile(r"(-?\d+)(\.0*)?")


@dataclass(frozen=True)
class Classes:
    """The classes of a predictor: how many, and their names if they are not plain numbers."""

    count: int
    names: tuple[str, ...] = ()

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
                f"classes ({named:.200})"
            )
        return np.array([table[cell] for cell in cells], np.int64)

    def labels(self, cells: Sequence[str], first_row: int) -> NDArray[np.int64]:
        """The numbers of true classes; none may be missing."""
        found = self.numbers(cells, "label", first_row)
        if len(found) and found.min() < 0:
            raise DataError(f"row {first_row + int(found.argmin())} has no label")
        return found


def cells_of(values: Any, what: str) -> list[str]:
    """One text per example; whole numbers look the same in every type.

    Arguments:
        what: The column, for error messages.
    """
    array = values if isinstance(values, list) else np.asarray(values)
    if isinstance(array, np.ndarray) and array.ndim != 1:
        raise DataError(f"{what} has shape {array.shape}: give one for each example, (n,)")
    listed = array if isinstance(array, list) else array.tolist()
    table = {cell: _text(cell) for cell in set(listed)}
    return [table[cell] for cell in listed]


def _text(cell: Any) -> str:
    if isinstance(cell, bytes):
        cell = cell.decode(errors="replace")
    text = "" if cell is None else str(cell).strip()
    whole = WHOLE.fullmatch(text)
    return str(int(whole[1])) if whole else text


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
