"""The rows of the table, from the certificates, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from pacbound.certificate.format import Certificate
from pacbound.experiments.pac_bayes.cell import CERTIFICATE, PacBayesCell
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.view import Column, number, render_cells, words
from pacbound.predictors.waterfall import tail_part
from pacbound.report import paper
from pacbound.report.amounts import percent, percent_up

__all__ = ["render", "row"]


def row(cell: PacBayesCell, folder: Path) -> Row:
    """Risks and bounds as fractions, KL in nats; None for missing values."""
    verdict = cell.finished(folder)
    figures: Row = dict.fromkeys(("risk", "test_error", "bound", "kl", "tail_correction"))
    if verdict.finished:
        state, detail = "done", ""
        figures = _figures(cell.certificate(folder))
    else:
        state, detail = Place(folder).state(cell, verdict.flaw)
    published = paper.closest(cell.network, cell.posterior, cell.objective)
    lower = None
    if published is not None and figures["bound"] is not None:
        # The paper prints hundredths of a per cent.
        lower = Decimal(percent_up(figures["bound"])) < Decimal(str(published.bound))
    return {
        "name": cell.name,
        "network": cell.network,
        "objective": cell.objective,
        "posterior": cell.posterior,
        "state": state,
        "detail": detail,
        **figures,
        "paper": _as_parts(published),
        "lower": lower,
        "certificate": str(folder / CERTIFICATE) if verdict.finished else None,
    }


def _figures(certificate: Certificate) -> Row:
    held_out, evidence = certificate.held_out, certificate.evidence
    claim = certificate.claims[0]
    test = None
    if held_out is not None and held_out.errors is not None and held_out.examples is not None:
        test = held_out.errors / held_out.examples
    return {
        "risk": float(claim.mean),
        "test_error": test,
        "bound": certificate.risk_bound,
        "kl": None if evidence is None else float(evidence.nats),
        "tail_correction": tail_part(certificate) or None,
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
        number("tail", "tail_correction", "{:.0f}"),
        Column("bound", _bound, style="bold"),
        Column("paper", _papers_bound),
    )
    legend = (
        "Risk, test error and bounds in per cent; KL in nats, and its tail correction if it is "
        "sampled. The paper's column is its best bound for the network and posterior."
    )
    return render_cells(title, columns, rows, legend)


def _bound(line: Row) -> str:
    return "–" if line["bound"] is None else percent_up(line["bound"])


def _papers_bound(line: Row) -> str:
    return percent(line["paper"]["bound"]) if line["paper"] else "–"
