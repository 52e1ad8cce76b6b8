"""The 43 tables of KEEL: certificates of three predictors beside the plain binomial limit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacbound.data.keel import keel_tables
from pacbound.errors import SettingError
from pacbound.experiments.keel.cell import PUBLISHED, RESULT, KeelCell
from pacbound.experiments.keel.rows import render, row
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.selection import Selection, chosen

__all__ = ["TABLE"]

OTHERS_ONLY = (
    *("network", "objective", "posterior", "agent", "weights", "samples"),
    *("seeds", "first_seed", "steps"),
)


class KeelResults:
    """Cells, rows and printing."""

    title = "KEEL's tables, certified at δ = 0.035, beside the plain binomial limit"
    published = PUBLISHED
    threads = 1  # products of this size gain nothing from a second thread

    def cells(self, selection: Selection) -> list[KeelCell]:
        """The tables from the smallest to the largest."""
        selection.refuse(*OTHERS_ONLY)
        if selection.overrides:
            raise SettingError("this table has no --set: each network is chosen by its validation")
        tables = keel_tables()
        names = sorted(tables, key=lambda name: (tables[name].rows, name))
        problems = chosen("table of KEEL", selection.problems, names)
        return [KeelCell(name, **(selection.sampling or {})) for name in problems]

    def rows(self, cells: Sequence[KeelCell], root: Path) -> list[Row]:
        """One row per table."""
        return [row(cell, Place.of(cell, root).path) for cell in cells]

    def render(self, rows: Sequence[Row]) -> Any:
        """The rows as a rich renderable."""
        return render(self.title, rows)

    def results(self, cell: KeelCell, folder: Path) -> dict[str, Path]:
        """The three certificates and the plain limit."""
        return {f"{cell.name}.json": folder / RESULT}


TABLE = KeelResults()
