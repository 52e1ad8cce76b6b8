"""A table in a `.jsonl` file: one object per line, with a value for each column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pacbound.data.table import Cell, Columns
from pacbound.errors import DataError, FileError
from pacbound.memory import ensure_memory

__all__ = ["json_columns"]

TIMES = 20  # the memory of the parsed objects, relative to the file size


def json_columns(path: Path) -> Columns:
    """The cells of every column by its name. All objects have the same names, in any order."""
    try:
        ensure_memory(TIMES * path.stat().st_size, str(path))
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path} as .jsonl: {error}") from error
    columns: dict[str, list[Cell]] = {}
    for number, line in enumerate(lines, 1):
        row = _object(line, f"{path}, row {number}")
        if number == 1:
            columns = {name: [] for name in row}
        if set(row) != set(columns):
            odd = sorted(set(row) ^ set(columns))[0]
            raise DataError(f"{path}, row {number}: '{odd[:30]}' is not in every row")
        for name, cell in row.items():
            columns[name].append(cell)
    return columns


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise DataError(f'{where} is not an object such as {{"column": 1}}')
    for name, cell in row.items():
        if not isinstance(cell, str | int | float | None):
            raise DataError(f"{where}: '{name[:30]}' is neither a number nor a text")
    return row
