"""A table in a `.csv` file: a header, then one example per row.

Columns are separated by commas, semicolons or tabs.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TextIO

from pacbound.data.dataset import Dataset
from pacbound.data.table import Columns, table
from pacbound.errors import DataError, FileError, PacboundError
from pacbound.memory import ensure_memory

__all__ = ["MOST_COLUMNS", "TIMES", "csv_columns", "read_csv", "separator", "unreadable"]

MOST_COLUMNS = 100_000
TIMES = 10  # the memory of the cells as texts, relative to the file size
_OTHERS = (";", "\t")  # separators beside the comma


def read_csv(path: Path, label: str) -> Dataset:
    """The data set in a file of separated columns with a header."""
    return table(path.stem, csv_columns(path), label, str(path), 2)


def csv_columns(path: Path) -> Columns:
    """The cells of every column, by the name in the header."""
    try:
        ensure_memory(TIMES * path.stat().st_size, str(path))
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True, delimiter=separator(stream))
            header = [name.strip() for name in next(reader, [])]
            _check_header(path, header)
            rows: list[list[str]] = []
            blank = 0
            for cells in reader:
                if not cells:
                    blank += 1  # allowed at the end
                    continue
                if blank:
                    raise DataError(f"{path}, row {len(rows) + 2}: the line is blank; remove it")
                if len(cells) != len(header):
                    raise DataError(
                        f"{path}, row {len(rows) + 2}: {len(cells)} cells under a header of "
                        f"{len(header)}"
                    )
                rows.append(cells)
    except PacboundError:
        raise
    except (OSError, ValueError, csv.Error) as error:
        raise FileError(f"cannot read {path} as .csv: {unreadable(error)}") from error
    if not rows:
        return {name: [] for name in header}
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def separator(stream: TextIO) -> str:
    """The separator of the columns, from the first two lines; the stream is at its start again.

    It is a comma, unless commas do not fit (the two lines differ in their number of cells, or
    have only one) and semicolons or tabs do.
    """

    def fits(candidate: str) -> bool:
        stream.seek(0)
        reader = csv.reader(stream, delimiter=candidate)
        try:
            header = next(reader, [])
            return len(header) > 1 and len(next(reader, header)) == len(header)
        except csv.Error:
            return False

    found = next((each for each in (",", *_OTHERS) if fits(each)), ",")
    stream.seek(0)
    return found


def unreadable(error: Exception) -> str:
    """Why a text file cannot be read, and what to do."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text; save it as UTF-8"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)[:200]


def _check_header(path: Path, header: list[str]) -> None:
    if not header:
        raise DataError(f"{path} is empty; give a header and rows")
    if len(header) > MOST_COLUMNS:
        raise DataError(f"{path} has {len(header)} columns; at most {MOST_COLUMNS} are allowed")
    seen: set[str] = set()
    for place, name in enumerate(header):
        if not name:
            raise DataError(
                f"{path}: column {place + 1} has no name; row numbers could reveal the label: "
                "remove the column, or name it"
            )
        if name in seen:
            raise DataError(f"{path}: two columns are named '{name}'")
        seen.add(name)
