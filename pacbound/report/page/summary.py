"""A row of the overview and of `pacbound report --json`."""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.report.explanation import claim_line
from pacbound.report.page.comparison import objective, paper_column, test_error
from pacbound.report.page.entry import Entry
from pacbound.report.terms import observed, principal

__all__ = ["Summary", "summarise"]


@dataclass(frozen=True)
class Summary:
    """The figures of one file; only the first ones are set if it is not valid."""

    name: str
    file: str
    sha256: str
    status: str
    reason: str
    data: str | None = None
    m: int | None = None
    claims: int | None = None
    claim: str | None = None  # the claim of the figures below
    recipe: str | None = None
    objective: str | None = None
    posterior: str | None = None
    predictor: str | None = None
    prior: str | None = None
    candidates: int | None = None
    looks: int | None = None
    delta: float | None = None
    empirical_risk: float | None = None
    nats: float | None = None  # the KL, or ln dq/dp of a draw
    ledger: float | None = None  # nats
    risk_bound: float | None = None
    test_error: float | None = None
    paper_bound: float | None = None
    training_log: str | None = None
    outcomes: int | None = None  # after deployment
    monitored: str | None = None  # what they say: refuted, or not refuted


def summarise(entry: Entry) -> Summary:
    """The row of one file."""
    about = (entry.name, entry.path.as_posix(), entry.sha256, entry.status, entry.reason)
    if entry.verified is None:
        return Summary(*about)
    certificate, log = entry.verified.certificate, entry.verified.log
    seen = entry.verified.monitored
    column, claim = paper_column(certificate), principal(certificate)
    line, evidence = claim_line(claim), certificate.evidence
    return Summary(
        *about,
        data=certificate.data.name,
        m=certificate.data.m,
        claims=len(certificate.claims),
        claim=f"{line.loss}, {line.subject}",
        recipe=certificate.model.recipe,
        objective=objective(certificate),
        posterior=certificate.model.posterior,
        predictor=certificate.predictor,
        prior=certificate.prior.kind,
        candidates=certificate.ledger.candidates,
        looks=certificate.ledger.looks,
        delta=float(certificate.delta),
        empirical_risk=observed(claim),
        nats=None if evidence is None else float(evidence.nats),
        ledger=float(certificate.bound.ledger),
        risk_bound=float(claim.bound),
        test_error=test_error(certificate) if claim is certificate.overall else None,
        paper_bound=column.bound / 100 if column else None,
        training_log=log.path.as_posix() if log else None,
        outcomes=seen.rows if seen else None,
        monitored=("refuted" if seen.refuted else "not refuted") if seen else None,
    )
