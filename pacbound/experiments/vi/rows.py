"""The table's rows, from the evaluations, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.place import Place
from pacbound.experiments.vi import paper
from pacbound.experiments.vi.cell import EVALUATION, ViCell

__all__ = ["render", "row"]

FIGURES = ("error", "negative_log_likelihood", "expected_calibration_error")


def row(cell: ViCell, folder: Path) -> Row:
    """Errors as parts of one; None for what is not there."""
    verdict = cell.finished(folder)
    figures: Row = dict.fromkeys((*FIGURES, "examples", "kl", "epochs", "seconds"))
    if verdict.finished:
        word, detail = "done", ""
        record = cell.record(folder)
        figures = {name: record["evaluation"][name] for name in (*FIGURES, "examples")}
        figures |= {name: record["training"][name] for name in ("kl", "epochs", "seconds")}
    else:
        word, detail = Place(folder).state(cell, verdict.flaw)
    published = paper.VI_ERRORS[cell.network].get(cell.posterior)
    lower = None
    if published is not None and figures["error"] is not None:
        lower = round(100 * figures["error"], 2) < published
    return {
        "name": cell.name,
        "network": cell.network,
        "posterior": cell.posterior,
        "state": word,
        "detail": detail,
        **figures,
        "paper_error": None if published is None else round(published / 100, 6),
        "lower": lower,
        "result": str(folder / EVALUATION) if verdict.finished else None,
    }


def render(title: str, rows: Sequence[Row]) -> Any:
    """A rich table that fits into 80 columns."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0, show_edge=False)
    for column in ("network", "posterior"):
        table.add_column(column, no_wrap=True)
    for column in ("epochs", "minutes", "NLL", "ECE", "error", "paper"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("lower?", no_wrap=True)
    previous = rows[0]["network"] if rows else ""
    for line in rows:
        if line["network"] != previous:
            table.add_section()
        previous = line["network"]
        table.add_row(
            line["network"],
            line["posterior"],
            _number(line["epochs"], "{:.0f}"),
            _number(line["seconds"], "{:.1f}", 1 / 60),
            _number(line["negative_log_likelihood"], "{:.4f}"),
            _number(line["expected_calibration_error"], "{:.2f}", 100),
            Text(_number(line["error"], "{:.2f}", 100), style="bold"),
            _number(line["paper_error"], "{:.2f}", 100),
            Text(*_last(line)),
        )
    legend = (
        "Test error and expected calibration error in per cent, negative log-likelihood in nats. "
        "The paper trains 210 epochs; its figures for point are of other papers' networks."
    )
    notes = [Text(f"{line['name']}: {line['detail']}") for line in rows if line["detail"]]
    return Group(table, Text(legend, style="dim"), *notes)


def _last(line: Row) -> tuple[str, str]:
    """The comparison, or why there is none, and its style."""
    if line["state"] != "done":
        return line["state"], "red" if line["state"] == "failed" else "dim"
    return {None: ("–", ""), True: ("yes", "green"), False: ("no", "")}[line["lower"]]


def _number(value: float | None, form: str, unit: float = 1.0) -> str:
    return "–" if value is None else form.format(unit * value)
