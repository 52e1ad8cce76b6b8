"""The published results of this project, shown where nothing has run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pacbound
from pacbound.experiments.tables.cell import Row, Table
from pacbound.experiments.tables.place import Place

__all__ = ["published_folder", "rows_with_published"]


def published_folder(name: str) -> Path | None:
    """A folder of published results, in the current folder or in the checkout."""
    for root in (Path(), Path(pacbound.__file__).parents[1]):
        if (root / name).is_dir():
            return root / name
    return None


def rows_with_published(
    table: Table, cells: Sequence[Any], root: Path, source: Path
) -> tuple[list[Row], int]:
    """The rows of all cells, and how many of the cells are published ones.

    A cell without a folder here is looked up among the published results. One that is not of this
    cell, or does not hold, is not shown.
    """
    with TemporaryDirectory() as scratch:
        shown_cells: list[Any] = []
        places: dict[str, tuple[str, bool]] = {}  # the true place of each file, by its name here
        for cell in cells:
            here, shown = Place.of(cell, root).path, Place.of(cell, Path(scratch)).path
            if here.exists():
                shown.symlink_to(here.resolve())
            elif _borrow(table, cell, source / f"{cell.name}.json", shown):
                shown_cells.append(_Published(cell))
                places[str(table.result(cell, shown))] = str(source / f"{cell.name}.json"), True
                continue
            shown_cells.append(cell)
            places[str(table.result(cell, shown))] = str(table.result(cell, here)), False
        rows = [_with_places(row, places) for row in table.rows(shown_cells, Path(scratch))]
    return rows, sum(is_published for _, is_published in places.values())


class _Published:
    """A cell that is finished if its published result is one of it."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell
        self.finished = cell.published

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cell, name)


def _borrow(table: Table, cell: Any, file: Path, folder: Path) -> bool:
    """Put a published result where the cell's own would be, if it is one of this cell."""
    if not file.is_file():
        return False
    target = table.result(cell, folder)
    target.parent.mkdir(parents=True)
    shutil.copyfile(file, target)
    if cell.published(folder).finished:
        return True
    shutil.rmtree(folder)
    return False


def _with_places(row: Any, places: dict[str, tuple[str, bool]]) -> Any:
    """A row with the true places of its files; the state of a published one says so."""
    if isinstance(row, list):
        return [_with_places(part, places) for part in row]
    if not isinstance(row, dict):
        return row
    found = {name: _with_places(value, places) for name, value in row.items()}
    for name, value in row.items():
        if isinstance(value, str) and value in places:
            found[name], is_published = places[value]
            found |= {"state": "published"} if is_published else {}
    return found
