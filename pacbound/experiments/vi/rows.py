"""The rows of the table, from the evaluations, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.view import number, render_cells, words
from pacbound.experiments.vi import paper
from pacbound.experiments.vi.cell import EVALUATION, ViCell
from pacbound.experiments.vi.learning import PAPER_EPOCHS, extrapolated

__all__ = ["render", "row"]

FIGURES = ("error", "negative_log_likelihood", "expected_calibration_error")


def row(cell: ViCell, folder: Path) -> Row:
    """Errors as fractions; None for missing values."""
    verdict = cell.finished(folder)
    figures: Row = dict.fromkeys((*FIGURES, "examples", "kl", "epochs", "seconds"))
    later = None
    if verdict.finished:
        word, detail = "done", ""
        record = cell.record(folder)
        figures = {name: record["evaluation"][name] for name in (*FIGURES, "examples")}
        figures |= {name: record["training"][name] for name in ("kl", "epochs", "seconds")}
        later = extrapolated(record)
    else:
        word, detail = Place(folder).state(cell, verdict.flaw)
    published = paper.VI_ERRORS[cell.network].get(cell.posterior)
    lower = None
    if published is not None and figures["error"] is not None:
        lower = round(100 * figures["error"], 2) <= published
    return {
        "name": cell.name,
        "network": cell.network,
        "posterior": cell.posterior,
        "state": word,
        "detail": detail,
        **figures,
        "paper_error": None if published is None else round(published / 100, 6),
        "lower": lower,
        "extrapolated_error": later,
        "result": str(folder / EVALUATION) if verdict.finished else None,
    }


def render(title: str, rows: Sequence[Row]) -> Any:
    """Errors in per cent."""
    columns = (
        *map(words, ("network", "posterior")),
        number("epochs", "epochs", "{:.0f}"),
        number("minutes", "seconds", "{:.1f}", 1 / 60),
        number("NLL", "negative_log_likelihood", "{:.4f}"),
        number("ECE", "expected_calibration_error", "{:.2f}", 100),
        number("error", "error", "{:.2f}", 100, style="bold"),
        number("paper", "paper_error", "{:.2f}", 100),
        number(f"at {PAPER_EPOCHS}", "extrapolated_error", "{:.2f}", 100),
    )
    legend = (
        "Test error and expected calibration error in per cent, negative log-likelihood in nats. "
        f"The paper trains {PAPER_EPOCHS} epochs; its figures for point are from other papers. "
        f"At {PAPER_EPOCHS}: the error that the last third of the learning curve extrapolates to, "
        "a guess on the low side."
    )
    return render_cells(title, columns, rows, legend)
