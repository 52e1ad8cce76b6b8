"""The results in one short table: what is certified, its bound, and its error on a test set."""

from __future__ import annotations

from pathlib import Path

from pacbound.experiments.pac_bayes.page import published, table, test_percent
from pacbound.priors import prior_of
from pacbound.report.amounts import percent_up

__all__ = ["summary_table"]


def summary_table(folder: Path) -> str:
    """Every published certificate in four short columns."""
    rows = []
    for name, certificate in published(folder):
        prior = "learned" if prior_of(certificate).learns else "free of data"
        what = f"[{certificate.model.recipe}, {certificate.predictor}](certificates/{name})"
        bound = percent_up(certificate.risk_bound)
        rows.append(f"| {what} | {prior} | **{bound}** | {test_percent(certificate)} |")
    return table("| network, predictor | prior | bound | test |", rows)
