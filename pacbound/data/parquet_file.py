"""A table in a `.parquet` file, read by pyarrow."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from pacbound.data.csv_file import MOST_COLUMNS
from pacbound.data.dataset import Dataset
from pacbound.data.table import Columns, table
from pacbound.errors import DataError, FileError, MissingDependency, PacboundError
from pacbound.memory import ensure_memory

__all__ = ["parquet_columns", "read_parquet"]

CELL = 32  # bytes of a number in a Python list


def read_parquet(path: Path, label: str) -> Dataset:
    """The data set in a file with columns of numbers."""
    return table(path.stem, parquet_columns(path), label, str(path), 1)


def parquet_columns(path: Path) -> Columns:
    """The cells of every column by its name."""
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingDependency(f"{path} needs a package: pip install 'pacbound[parquet]'")
    from pyarrow import ArrowException, parquet

    try:
        described = parquet.read_metadata(path)
        if described.num_columns > MOST_COLUMNS:
            raise DataError(f"{path} has {described.num_columns} columns; {MOST_COLUMNS} at most")
        ensure_memory(CELL * described.num_rows * described.num_columns, str(path))
        found = parquet.read_table(path)
        columns = dict(zip(found.column_names, (c.to_pylist() for c in found.columns), strict=True))
    except PacboundError:
        raise
    except (OSError, ValueError, ArrowException) as error:
        words = " ".join(str(error).split())
        raise FileError(f"cannot read {path} as .parquet: {words}") from error
    if len(columns) != found.num_columns:
        raise DataError(f"{path}: two columns have the same name")
    for name, cells in columns.items():
        odd = next((c for c in cells if not isinstance(c, str | int | float | None)), None)
        if odd is not None:
            raise DataError(f"{path}: column '{name}' holds {type(odd).__name__}, not numbers")
    return columns
