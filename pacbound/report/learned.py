"""The table of published certificates around learned priors."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from pacbound.bounds import binomial
from pacbound.certificate.format import Certificate, LearnedCenter
from pacbound.report.certificates import published
from pacbound.report.percent import percent_up
from pacbound.report.terms import empirical_risk

__all__ = ["learned_table"]


def learned_table(folder: Path) -> str:
    """Bound, risk and test error, beside what the same examples say of the prior's centre alone.

    The prior never saw the m examples that are counted, so its centre has a binomial bound from
    them: the gap is what the posterior, its KL and the declared choices cost or gain.
    """
    rows = [
        "| data | recipe | predictor | m | bound | risk | KL or ln dq/dp "
        "| binomial bound of the centre | gap | test error | minutes |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, certificate in published(folder):
        center = certificate.prior.center
        if isinstance(center, LearnedCenter):
            rows.append(_row(name, certificate, center))
    return "\n".join(rows)


def _row(name: str, certificate: Certificate, center: LearnedCenter) -> str:
    claim, m, made = certificate.claim, certificate.data.m, certificate.made
    own = binomial.upper_limit(center.errors, m, Decimal(repr(claim.delta)))
    held_out = certificate.also.held_out
    test = f"{100 * held_out.errors / held_out.n:.2f}" if held_out else "–"
    minutes = ((made.training_seconds or 0) + made.seconds) / 60
    return (
        f"| {certificate.data.name} | `{certificate.model.recipe}` "
        f"| [{claim.predictor}](certificates/{name}) | {m} | **{percent_up(claim.risk_bound)}** "
        f"| {100 * empirical_risk(certificate):.2f} | {certificate.kl.upper:.1f} "
        f"| {percent_up(own)} | {100 * (claim.risk_bound - own):+.2f} | {test} | {minutes:.0f} |"
    )
