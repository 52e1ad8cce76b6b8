"""The tables of published certificates around learned priors."""

from __future__ import annotations

from pathlib import Path

from pacbound.certificate.format import Certificate
from pacbound.experiments.learned.cell import PREDICTORS
from pacbound.experiments.learned.elsewhere import ELSEWHERE, published_elsewhere
from pacbound.experiments.pac_bayes.page import published, seconds, table, test_percent
from pacbound.priors import prior_of
from pacbound.report.amounts import percent_up
from pacbound.report.terms import observed, principal

__all__ = ["elsewhere_table", "learned_table"]


def learned_table(folder: Path) -> str:
    """Bound, risk, divergence and test error of every predictor around a learned prior.

    The prior never saw the m counted examples, so its centre can be certified as a fixed predictor.
    The posterior has to beat that bound.
    """
    rows = [
        _row(name, certificate)
        for name, certificate in published(folder)
        if prior_of(certificate).learns
    ]
    return table("| network | bound | risk | nats | test | min |", rows)


def _row(name: str, certificate: Certificate) -> str:
    evidence = certificate.evidence
    nats = "–" if evidence is None else f"{evidence.nats:.1f}"
    took = [seconds(certificate, step) or 0.0 for step in ("prior", "train", "certify")]
    what = f"{certificate.model.recipe}, {certificate.predictor}"
    return (
        f"| [{what}](../certificates/{name}) | **{percent_up(certificate.risk_bound)}** "
        f"| {100 * observed(principal(certificate)):.2f} | {nats} "
        f"| {test_percent(certificate)} | {sum(took) / 60:.0f} |"
    )


def elsewhere_table(folder: Path) -> str:
    """The lowest published bound for every data set and predictor, beside those of others."""
    ours: dict[tuple[str, str], tuple[str, Certificate]] = {}
    for name, certificate in published(folder):
        if prior_of(certificate).learns:
            key = (certificate.data.name, certificate.predictor)
            best = ours.setdefault(key, (name, certificate))
            if certificate.risk_bound < best[1].risk_bound:
                ours[key] = name, certificate
    rows = []
    for data in dict.fromkeys(each.data for each in ELSEWHERE):
        for predictor in PREDICTORS:
            bound = "–"
            if (data, predictor) in ours:
                name, certificate = ours[data, predictor]
                percent = percent_up(certificate.risk_bound)
                bound = f"[**{percent}**](../certificates/{name})"
            others = [f"{x.source} {x.bound:.2f}" for x in published_elsewhere(data, predictor)]
            rows.append(f"| {data} | {predictor} | {bound} | {', '.join(others)} |")
    return table("| data | predictor | bound | elsewhere |", rows)
