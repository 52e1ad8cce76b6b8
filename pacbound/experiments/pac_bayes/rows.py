"""The rows of the table, from the certificates, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from pacbound.experiments.pac_bayes.cell import PREDICTORS, PacBayesCell
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.certified import certificate_figures
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.view import Column, number, render_cells, words
from pacbound.report import paper
from pacbound.report.amounts import percent, percent_up

__all__ = ["render", "row"]


def row(cell: PacBayesCell, folder: Path) -> Row:
    """Figures of the Gibbs certificate, and under `draw` those of the drawn network.

    Risks and bounds as fractions, KL in nats; None for missing values.
    """
    verdict = cell.finished(folder)
    certificates = cell.certificates(folder) if verdict.finished else {}
    state, detail = "done", cell.note(certificates)
    if not verdict.finished:
        state, detail = Place(folder).state(cell, verdict.flaw)
    parts = {
        name: {
            **certificate_figures(certificates.get(name)),
            "certificate": str(cell.file(folder, name)) if name in certificates else None,
        }
        for name in PREDICTORS
    }
    draw, gibbs = parts["draw"], parts["gibbs"]
    gibbs["kl"] = gibbs.pop("nats")
    published = paper.closest(cell.network, cell.posterior, cell.objective)
    lower = None
    if published is not None and gibbs["bound"] is not None:
        # The paper prints hundredths of a per cent.
        lower = Decimal(percent_up(gibbs["bound"])) < Decimal(str(published.bound))
    return {
        "name": cell.name,
        "network": cell.network,
        "objective": cell.objective,
        "posterior": cell.posterior,
        "state": state,
        "detail": detail,
        **gibbs,
        "draw": draw,
        "paper": _as_parts(published),
        "lower": lower,
    }


def _as_parts(published: paper.Cell | None) -> Row | None:
    if published is None:
        return None
    parts = {name: getattr(published, name) / 100 for name in ("risk", "test", "bound")}
    return {
        "objective": published.objective,
        "risk": round(parts["risk"], 6),
        "test_error": round(parts["test"], 6),
        "bound": round(parts["bound"], 6),
        "kl": published.kl,
    }


def render(title: str, rows: Sequence[Row]) -> Any:
    """Risks in per cent, KL in nats."""
    columns = (
        *map(words, ("network", "objective", "posterior")),
        number("risk", "risk", "{:.2f}", 100),
        number("test", "test_error", "{:.2f}", 100),
        number("KL", "kl", "{:.0f}"),
        Column("Gibbs", _bound, style="bold"),
        Column("draw", lambda line: _bound(line["draw"]), style="bold"),
        Column("paper", _papers_bound),
    )
    legend = (
        "Risk, test error and bounds in per cent; KL in nats, with the tail of a sampled one. "
        "Gibbs: fresh weights for every prediction; draw: one network. The paper's column is its "
        "best Gibbs bound for the architecture and posterior; lower?: ours, Gibbs, is below."
    )
    return render_cells(title, columns, rows, legend)


def _bound(line: Row) -> str:
    return "–" if line["bound"] is None else percent_up(line["bound"])


def _papers_bound(line: Row) -> str:
    return percent(line["paper"]["bound"]) if line["paper"] else "–"
