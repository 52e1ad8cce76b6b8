"""The table's rows, from the certificates, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from pacbound.certificate.format import Certificate
from pacbound.experiments.pac_bayes.cell import CERTIFICATE, PacBayesCell
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.place import Place
from pacbound.predictors.waterfall import tail_part
from pacbound.report import paper
from pacbound.report.amounts import percent_up

__all__ = ["render", "row"]


def row(cell: PacBayesCell, folder: Path) -> Row:
    """Risks and bounds as parts of one, KL in nats; None for what is not there."""
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
        # A hundredth of a per cent is all that the paper prints.
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
    """A rich table that fits into 80 columns: risks in per cent, KL in nats."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0, show_edge=False)
    for column in ("network", "objective", "posterior"):
        table.add_column(column, no_wrap=True)
    for column in ("risk", "test", "KL", "tail", "bound", "paper"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("lower?", no_wrap=True)
    previous = rows[0]["network"] if rows else ""
    for line in rows:
        if line["network"] != previous:
            table.add_section()
        previous = line["network"]
        table.add_row(
            line["network"],
            line["objective"],
            line["posterior"],
            *(_percent(line[name]) for name in ("risk", "test_error")),
            *(_nats(line[name]) for name in ("kl", "tail_correction")),
            Text("–" if line["bound"] is None else percent_up(line["bound"]), style="bold"),
            _percent(line["paper"]["bound"] if line["paper"] else None),
            Text(*_last(line)),
        )
    legend = (
        "Risk, test error and bounds in per cent, KL in nats, of it the tail correction where it "
        "is sampled. Beside ours stands the paper's best bound for the network and posterior."
    )
    notes = [Text(f"{line['name']}: {line['detail']}") for line in rows if line["detail"]]
    return Group(table, Text(legend, style="dim"), *notes)


def _last(line: Row) -> tuple[str, str]:
    """The comparison, or why there is none, and its style."""
    if line["state"] != "done":
        return line["state"], "red" if line["state"] == "failed" else "dim"
    return {None: ("–", ""), True: ("yes", "green"), False: ("no", "")}[line["lower"]]


def _percent(part: float | None) -> str:
    return "–" if part is None else f"{100 * part:.2f}"


def _nats(nats: float | None) -> str:
    return "–" if nats is None else f"{nats:.0f}"
