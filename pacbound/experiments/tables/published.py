"""The published results of this project, shown where nothing has run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pacbound
from pacbound.experiments.tables.cell import Row, Table
from pacbound.experiments.tables.place import Place

__all__ = ["Shown", "published_folder", "rows_with_published"]


@dataclass(frozen=True)
class Shown:
    """The rows of all cells, those that did not run here from published results."""

    rows: list[Row]
    borrowed: int  # cells whose published results are shown
    passed_over: int  # cells whose published results have other settings, or do not hold


def published_folder(name: str) -> Path | None:
    """A folder of published results, in the current folder or in the checkout."""
    for root in (Path(), Path(pacbound.__file__).parents[1]):
        if (root / name).is_dir():
            return root / name
    return None


def rows_with_published(table: Table, cells: Sequence[Any], root: Path, source: Path) -> Shown:
    """The rows of all cells, and how many of the cells are published ones.

    A cell without a folder here is looked up among the published results. One that is not of this
    cell, or does not hold, is not shown.
    """
    with TemporaryDirectory() as scratch:
        shown_cells: list[Any] = []
        borrowed = passed_over = 0
        places: dict[str, tuple[str, bool]] = {}  # the true place of each file, by its name here
        for cell in cells:
            here, shown = Place.of(cell, root).path, Place.of(cell, Path(scratch)).path
            files = table.results(cell, shown)
            if not here.exists() and any((source / name).is_file() for name in files):
                if _borrow(files, cell, source, shown):
                    borrowed += 1
                    shown_cells.append(_Published(cell))
                    places |= {str(x): (str(source / name), True) for name, x in files.items()}
                    continue
                passed_over += 1
            if here.exists():
                shown.symlink_to(here.resolve())
            shown_cells.append(cell)
            true = table.results(cell, here)
            places |= {str(file): (str(true[name]), False) for name, file in files.items()}
        rows = [_with_places(row, places) for row in table.rows(shown_cells, Path(scratch))]
    return Shown(rows, borrowed, passed_over)


class _Published:
    """A cell that is finished if its published result is one of it."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell
        self.finished = cell.published

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cell, name)


def _borrow(files: Mapping[str, Path], cell: Any, source: Path, folder: Path) -> bool:
    """Put published results where the cell's own would be, if they are of this cell."""
    there = {source / name: target for name, target in files.items() if (source / name).is_file()}
    folder.mkdir(parents=True)
    for file, target in there.items():
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
