"""The rows of the table: three for each network, beside the figures that others published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

from pacbound.experiments.learned.cell import LearnedCell
from pacbound.experiments.learned.elsewhere import Published, lowest, published_elsewhere
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.certified import certificate_figures
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.view import Column, bound, number, render_cells, words
from pacbound.report.amounts import percent_up

__all__ = ["render", "rows"]


def rows(cell: LearnedCell, folder: Path) -> list[Row]:
    """One row per predictor. Risks and bounds as fractions, divergence in nats; None if missing."""
    verdict = cell.finished(folder)
    certificates = cell.certificates(folder) if verdict.finished else {}
    state, detail = "done", cell.note(certificates)
    if not verdict.finished:
        state, detail = Place(folder).state(cell, verdict.flaw)
    found: list[Row] = []
    for predictor in cell.certification.predictors:
        certificate = certificates.get(predictor)
        figures = certificate_figures(certificate)
        missing = verdict.finished and certificate is None  # of a training that was published
        least, lower = lowest(cell.data, predictor), None
        if least is not None and certificate is not None:
            lower = Decimal(percent_up(figures["bound"])) < Decimal(str(least.bound))
        path = None if certificate is None else str(cell.file(folder, predictor))
        found.append(
            {
                "name": f"{cell.name}-{predictor}",
                "network": cell.network,
                "predictor": predictor,
                "state": "not run" if missing else state,
                "detail": "" if found else detail,  # once for all of a training
                **figures,
                "elsewhere": [_as_fractions(x) for x in published_elsewhere(cell.data, predictor)],
                "lower": lower,
                "certificate": path,
            }
        )
    return found


def render(title: str, lines: Sequence[Row]) -> Any:
    """Risks in per cent."""
    columns = (
        *map(words, ("network", "predictor")),
        number("risk", "risk", "{:.2f}", 100),
        number("test", "test_error", "{:.2f}", 100),
        number("nats", "nats", "{:.1f}"),
        bound("bound", "bound", style="bold"),
        Column("elsewhere", _elsewhere),
    )
    legend = (
        "Risk, test error and bounds in per cent; nats: KL, or ln dq/dp of a draw. Elsewhere: the "
        "lowest bound that others published for the data and the kind of predictor."
    )
    return render_cells(title, columns, lines, legend)


def _as_fractions(published: Published) -> Row:
    """The figures of others in the unit of ours."""
    test = None if published.test is None else round(published.test / 100, 6)
    return {**asdict(published), "bound": round(published.bound / 100, 6), "test": test}


def _elsewhere(line: Row) -> str:
    if not line["elsewhere"]:
        return "–"
    least = line["elsewhere"][0]
    return f"{least['source']} {100 * least['bound']:.2f}"
