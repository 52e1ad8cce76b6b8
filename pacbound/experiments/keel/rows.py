"""The rows of the table, from the cells' results, beside the plain limit and published votes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacbound.certificate.format import Certificate
from pacbound.experiments.keel.cell import PREDICTORS, RESULT, KeelCell, place_of, read_result
from pacbound.experiments.keel.published import TREE_VOTES
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.view import Column, bound, number, render_cells

__all__ = ["figures", "render", "row"]


def figures(record: dict[str, Any]) -> Row:
    """The figures of a finished result; rates as fractions."""
    certificates: dict[str, Certificate] = record["certificates"]
    fixed = certificates["fixed"]
    bounds = {name: float(certificates[name].risk_bound) for name in PREDICTORS}
    return {
        "examples": fixed.data.examples,
        "m": fixed.data.m,
        "errors": fixed.claims[0].errors,
        "copies": fixed.data.copies,
        "place": place_of(record),
        "hidden": record["chosen"]["hidden"],
        "plain": record["plain"],
        **bounds,
        "fixed_ratio": bounds["fixed"] / record["plain"],
        "draw_ratio": bounds["draw"] / record["plain"],
        "gibbs_ratio": bounds["gibbs"] / record["plain"],
        "seconds": sum(record["seconds"].values()),
    }


NOTHING = ("examples", "m", "errors", "copies", "place", "hidden", "plain", *PREDICTORS, "seconds")
RATIOS = tuple(f"{name}_ratio" for name in PREDICTORS)


def row(cell: KeelCell, folder: Path) -> Row:
    """One table; None for missing values."""
    verdict = cell.finished(folder)
    found: Row = dict.fromkeys((*NOTHING, *RATIOS))
    if verdict.finished:
        word, detail = "done", ""
        found = figures(read_result(folder / RESULT))
    else:
        word, detail = Place(folder).state(cell, verdict.flaw)
    votes = TREE_VOTES.get(cell.table)
    lower = None
    if votes is not None and found["fixed"] is not None:
        lower = max(found["fixed"], found["draw"]) < votes / 100
    return {
        "name": cell.name,
        "network": "",  # all rows are one group
        "state": word,
        "detail": detail,
        **found,
        "tree_votes": None if votes is None else round(votes / 100, 6),
        "lower": lower,
        "result": str(folder / RESULT) if verdict.finished else None,
    }


def render(title: str, rows: Sequence[Row]) -> Any:
    """Bounds in per cent."""
    columns = (
        Column("table", lambda line: str(line["name"]), "left"),
        number("m", "m", "{:.0f}"),
        number("errors", "errors", "{:.0f}"),
        bound("plain", "plain"),
        bound("fixed", "fixed"),
        bound("draw", "draw", style="bold"),
        bound("Gibbs", "gibbs"),
        number("draw/plain", "draw_ratio", "{:.3f}"),
        number("trees", "tree_votes", "{:.1f}", 100),
    )
    legend = (
        "Bounds in per cent, rounded up; m counted examples. Plain: the Clopper–Pearson limit of "
        "the same centre at the same δ. Trees: published certified votes; lower?: fixed and draw "
        "are below."
    )
    return render_cells(title, columns, rows, legend)
