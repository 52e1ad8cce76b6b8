"""The layout of trained cells: one line per cell, grouped by network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from pacbound.experiments.tables.cell import Row
from pacbound.report.amounts import percent_up

__all__ = ["Column", "bound", "number", "render_cells", "words"]


@dataclass(frozen=True)
class Column:
    """The content of a column."""

    header: str
    show: Callable[[Row], str]
    justify: Any = "right"
    style: str = ""


def words(name: str) -> Column:
    """A column of names."""
    return Column(name, itemgetter(name), "left")


def number(header: str, name: str, form: str, unit: float = 1.0, style: str = "") -> Column:
    """A column of numbers; a dash for missing ones."""

    def show(line: Row) -> str:
        return "–" if line[name] is None else form.format(unit * line[name])

    return Column(header, show, style=style)


def bound(header: str, name: str, style: str = "") -> Column:
    """A column of bounds in per cent, rounded up: none is shown smaller than it is."""

    def show(line: Row) -> str:
        return "–" if line[name] is None else percent_up(line[name])

    return Column(header, show, style=style)


def render_cells(title: str, columns: Sequence[Column], rows: Sequence[Row], legend: str) -> Any:
    """A rich table for 80 columns; the last column says whether ours is below the paper's."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0, show_edge=False)
    for column in columns:
        table.add_column(column.header, justify=column.justify, no_wrap=True)
    table.add_column("lower?", no_wrap=True)
    previous = rows[0]["network"] if rows else ""
    for line in rows:
        if line["network"] != previous:
            table.add_section()
        previous = line["network"]
        cells = (Text(column.show(line), style=column.style) for column in columns)
        table.add_row(*cells, Text(*_comparison(line)))
    notes = [Text(f"{line['name']}: {line['detail']}") for line in rows if line["detail"]]
    return Group(table, Text(legend, style="dim"), *notes)


def _comparison(line: Row) -> tuple[str, str]:
    """Whether ours is lower, or why there is no comparison, and its style."""
    if line["state"] not in ("done", "published"):
        return line["state"], "red" if line["state"] == "failed" else "dim"
    return {None: ("–", ""), True: ("yes", "green"), False: ("no", "")}[line["lower"]]
