"""A user's own table: named columns of numbers, one of which holds the classes.

Numbers are used unchanged. Anything computed from the examples (means to subtract, codes for texts)
would make the network's inputs depend on all the data. A certificate from the same data would then
not be valid. So nothing is computed here, and text is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pacbound.data.dataset import Dataset
from pacbound.errors import DataError, by_caller, unknown_name

__all__ = [
    "Cell",
    "Columns",
    "inputs_of",
    "is_missing",
    "label_texts",
    "number_of",
    "ordered_names",
    "table",
    "text_of",
]

Cell = str | float | bool | None
Columns = Mapping[str, Sequence[Cell]]

_MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_TRUTH = {"true": 1.0, "false": 0.0}
_SHOWN = 10  # classes shown in the name of the data
_FEW_CLASSES = 20  # more classes than this, and than half of the rows, are not classes


def table(
    name: str,
    columns: Columns,
    label: str,
    where: str,
    first_row: int,
) -> Dataset:
    """The data set of a table: input columns in their order, classes in the order of labels.

    Arguments:
        columns: The columns by name, all of one length.
        label: The name of the column that holds the classes.
        where: The start of error messages.
        first_row: The row number of the first example, for error messages.
    """
    if not label:
        way = by_caller("--label", "label=…")
        raise DataError(f"{where} is a table: name the column of the classes with {way}")
    if label not in columns:
        raise DataError(f"{where}: {unknown_name('column', label, columns)}{_headless(columns)}")
    if len(columns) < 2:
        raise DataError(f"{where} has only the column '{label}'; separate columns by commas")
    if not len(columns[label]):
        raise DataError(f"{where} has no rows")
    used = [key for key in columns if key != label]
    inputs = inputs_of(columns, used, where, first_row)
    texts = label_texts(columns[label], where, first_row)
    names = ordered_names(set(texts))
    if len(names) < 2:
        raise DataError(f"{where}: column '{label}' holds the single class {names[0]}; give two")
    if len(names) > max(_FEW_CLASSES, len(texts) // 2):
        raise DataError(
            f"{where}: column '{label}' holds {len(names)} different values in {len(texts)} rows; "
            "it must hold classes: to predict a quantity, divide it into ranges beforehand"
        )
    numbers = {text: number for number, text in enumerate(names)}
    labels = np.array([numbers[text] for text in texts], np.int64)
    shown = names if len(names) <= _SHOWN else [*names[: _SHOWN - 1], "…", names[-1]]
    return Dataset(
        f"{name} ({label}: {', '.join(shown)})",
        inputs,
        labels,
        None,
        None,
        len(names),
        class_names=tuple(names),
        columns=tuple(used),
    )


def _headless(names: Iterable[str]) -> str:
    """A remark if the first row seems to hold numbers instead of names."""
    return "" if not any(map(_is_number, names)) else "; the first row must hold the columns' names"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def inputs_of(
    columns: Columns, names: Sequence[str], where: str, first_row: int
) -> NDArray[np.float32]:
    """The numbers in these columns, in this order: (rows, columns)."""
    inputs = np.empty((len(columns[names[0]]), len(names)), np.float32)
    for place, name in enumerate(names):
        for row, cell in enumerate(columns[name]):
            inputs[row, place] = number_of(cell, f"{where}, row {first_row + row}", name)
    return inputs


def label_texts(cells: Sequence[Cell], where: str, first_row: int) -> list[str]:
    """The labels as texts."""
    return [text_of(cell, f"{where}, row {first_row + i}") for i, cell in enumerate(cells)]


def number_of(cell: Cell, where: str, column: str) -> float:
    """A cell as a number that is also a finite float32."""
    if is_missing(cell):
        raise DataError(
            f"{where}: column '{column}' has no value; a replacement must not be computed from the "
            "data: fill it in beforehand, or remove the row or the column"
        )
    if isinstance(cell, str):
        text = cell.strip()
        if text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        try:
            number = float(text.replace("_", "x"))  # only Python accepts 1_000
        except ValueError:
            if _DECIMAL_COMMA.fullmatch(text):
                raise DataError(
                    f"{where}: column '{column}' has a decimal comma ('{text[:30]}'); write a point"
                ) from None
            raise DataError(
                f"{where}: column '{column}' holds text ('{text[:30]}'); codes for its values must "
                "not be computed from the data: write numbers, or remove the column"
            ) from None
    else:
        assert cell is not None
        number = float(cell)
    with np.errstate(over="ignore"):
        if not np.isfinite(np.float32(number)):
            raise DataError(f"{where}: column '{column}' is {number}, not a finite float32")
    return number


def text_of(cell: Cell, where: str) -> str:
    """A label as text. Whole numbers look the same in every kind of file."""
    if is_missing(cell):
        named = isinstance(cell, str) and cell.strip()
        what = f"the label '{named}' means a missing value" if named else "the row has no label"
        raise DataError(f"{where}: {what}; fill it in, or remove the row")
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def is_missing(cell: Cell) -> bool:
    """Whether a cell is empty, or says that there is no value."""
    if isinstance(cell, str):
        return cell.strip().lower() in _MISSING
    return cell is None or cell != cell  # NaN


def ordered_names(texts: set[str]) -> list[str]:
    """Sorted labels: by number if all are numbers, otherwise as text."""
    try:
        return sorted(texts, key=lambda text: (float(text), text))
    except ValueError:
        return sorted(texts)
