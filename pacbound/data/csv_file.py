"""A table in a `.csv` file: a header, then one example per row."""

from __future__ import annotations

import csv
from pathlib import Path

from pacbound.data.dataset import Dataset
from pacbound.data.table import Columns, table
from pacbound.errors import DataError, FileError, PacboundError
from pacbound.memory import ensure_memory

__all__ = ["MOST_COLUMNS", "TIMES", "csv_columns", "read_csv"]

MOST_COLUMNS = 100_000
TIMES = 10  # the memory of the cells as texts, relative to the file size


def read_csv(path: Path, label: str) -> Dataset:
    """The data set in a file of comma-separated columns with a header."""
    return table(path.stem, csv_columns(path), label, str(path), 2)


def csv_columns(path: Path) -> Columns:
    """The cells of every column, by the name in the header."""
    try:
        ensure_memory(TIMES * path.stat().st_size, str(path))
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            header = [name.strip() for name in next(reader, [])]
            _check_header(path, header)
            rows: list[list[str]] = []
            for cells in reader:
                if len(cells) != len(header):
                    raise DataError(
                        f"{path}, row {len(rows) + 2}: {len(cells)} cells under a header of "
                        f"{len(header)}"
                    )
                rows.append(cells)
    except PacboundError:
        raise
    except (OSError, ValueError, csv.Error) as error:
        raise FileError(f"cannot read {path} as .csv: {error}") from error
    if not rows:
        return {name: [] for name in header}
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


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
