"""Load any data: by catalogue name or by the path of a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pacbound.data.catalogue import catalogue, find
from pacbound.data.csv_file import read_csv
from pacbound.data.dataset import Dataset
from pacbound.data.fetching import Added, Fetched, accept, obtain
from pacbound.data.npz import read_npz
from pacbound.data.parquet_file import read_parquet
from pacbound.data.sources import Progress
from pacbound.errors import DataError

__all__ = ["add", "fetch", "load"]


TABLES = {".csv": read_csv, ".parquet": read_parquet}


def load(
    name_or_path: str | os.PathLike[str], progress: Progress | None = None, label: str = ""
) -> Dataset:
    """The data set of this name, downloaded if the cache lacks it, or the one in this file.

    Arguments:
        label: The column that holds the classes, if the file is a table.
    """
    name_or_path = os.fspath(name_or_path)
    if name_or_path not in catalogue():
        path = Path(name_or_path).expanduser()
        is_table = path.suffix.lower() in TABLES
        if label and not is_table and path.is_file():
            raise DataError(
                f"{name_or_path} is not a table, so it has no label; a table is a .csv or .parquet "
                "file, and commas, semicolons or tabs separate the columns of a .csv"
            )
        if path.is_file():
            read = TABLES[path.suffix.lower()](path, label) if is_table else read_npz(path)
            return replace(read, origin=name_or_path)
        if "/" in name_or_path or os.sep in name_or_path or path.suffix:
            raise DataError(
                f"no file {name_or_path}; give an .npz, .csv or .parquet file, or one of the names "
                "that `pacbound data list` shows"
            )
    entry = find(name_or_path)
    return replace(entry.assemble(obtain(entry, progress).contents), origin=name_or_path)


def fetch(name: str, progress: Progress | None = None) -> Fetched:
    """Ensure that the files of a data set are in the cache."""
    return obtain(find(name), progress)


def add(name: str, paths: Sequence[str | os.PathLike[str]]) -> Added:
    """Add a user's files of a data set to the cache."""
    return accept(find(name), [Path(path) for path in paths])
