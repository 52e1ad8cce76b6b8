"""The results in one short table: each network with its smallest bounds."""

from __future__ import annotations

from pathlib import Path

from pacbound.certificate.format import Certificate
from pacbound.experiments.pac_bayes.page import published, table, test_percent
from pacbound.priors import prior_of
from pacbound.report.amounts import percent_up

__all__ = ["summary_table"]

COLUMNS = ("fixed", "draw", "gibbs")  # predictors


def summary_table(folder: Path) -> str:
    """Every recipe with its smallest bounds, and the test error of the smallest of them."""
    best: dict[tuple[str, str], dict[str, tuple[str, Certificate]]] = {}
    for name, certificate in published(folder):
        prior = "learned" if prior_of(certificate).learns else "free of data"
        bounds = best.setdefault((certificate.model.recipe or "", prior), {})
        known = bounds.get(certificate.predictor)
        if known is None or certificate.risk_bound < known[1].risk_bound:
            bounds[certificate.predictor] = name, certificate
    rows = []
    for (recipe, prior), bounds in best.items():
        cells = [_bound(bounds.get(predictor)) for predictor in COLUMNS]
        shown = [bounds[predictor][1] for predictor in COLUMNS if predictor in bounds]
        if shown:
            smallest = min(shown, key=lambda certificate: certificate.risk_bound)
            rows.append(f"| {recipe} | {prior} | {' | '.join(cells)} | {test_percent(smallest)} |")
    return table("| network | prior | fixed | draw | Gibbs | test |", rows)


def _bound(named: tuple[str, Certificate] | None) -> str:
    if named is None:
        return "–"
    name, certificate = named
    return f"[**{percent_up(certificate.risk_bound)}**](certificates/{name})"
