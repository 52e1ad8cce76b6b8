"""The results in one short table: each recipe with its certificates."""

from __future__ import annotations

from pathlib import Path

from pacbound.certificate.format import Certificate
from pacbound.experiments.pac_bayes.page import published, table, test_percent
from pacbound.priors import prior_of
from pacbound.recipes import recipe, recipe_names
from pacbound.report.amounts import percent_up

__all__ = ["summary_table"]

COLUMNS = ("fixed", "draw", "gibbs")  # predictors


def summary_table(folder: Path) -> str:
    """Every recipe with the bounds of its own posterior and objective, and the last test error.

    What is shown is fixed by the recipe. The smallest bound over several posteriors would be a
    choice that the certificates do not pay for.
    """
    found: dict[tuple[str, str], dict[str, tuple[str, Certificate]]] = {}
    for name, certificate in published(folder):
        if _is_own(certificate):
            prior = "learned" if prior_of(certificate).learns else "free of data"
            key = certificate.model.recipe or "", prior
            found.setdefault(key, {})[certificate.predictor] = name, certificate
    rows = []
    for (network, prior), certificates in found.items():
        shown = [certificates.get(predictor) for predictor in COLUMNS]
        tests = [test_percent(named[1]) for named in shown if named is not None]
        if tests:
            cells = " | ".join(_bound(named) for named in shown)
            rows.append(f"| {network} | {prior} | {cells} | {tests[-1]} |")
    return table("| network | prior | fixed | draw | Gibbs | test |", rows)


def _is_own(certificate: Certificate) -> bool:
    """Whether posterior and objective are those of the recipe, as far as they are recorded."""
    name, made = certificate.model.recipe or "", certificate.made.settings
    if name not in recipe_names():
        return True
    own = recipe(name).to_mapping()
    return all(made.get(key, own[key]) == own[key] for key in ("posterior", "objective"))


def _bound(named: tuple[str, Certificate] | None) -> str:
    if named is None:
        return "–"
    name, certificate = named
    return f"[**{percent_up(certificate.risk_bound)}**](certificates/{name})"
