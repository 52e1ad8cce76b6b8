"""A line of the overview, and of `pacbound report --json`."""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.report.page.comparison import objective, paper_column, test_error
from pacbound.report.page.entry import Entry
from pacbound.report.terms import empirical_risk

__all__ = ["Summary", "summarise"]


@dataclass(frozen=True)
class Summary:
    """The figures of one file; all but the first are empty where it does not verify."""

    name: str
    file: str
    sha256: str
    status: str
    reason: str
    data: str | None = None
    m: int | None = None
    recipe: str | None = None
    objective: str | None = None
    posterior: str | None = None
    predictor: str | None = None
    delta: float | None = None
    empirical_risk: float | None = None
    kl: float | None = None
    risk_bound: float | None = None
    test_error: float | None = None
    paper_bound: float | None = None
    training_log: str | None = None


def summarise(entry: Entry) -> Summary:
    """The line of one file."""
    about = (entry.name, entry.path.as_posix(), entry.sha256, entry.status, entry.reason)
    if entry.verified is None:
        return Summary(*about)
    certificate, log = entry.verified.certificate, entry.verified.log
    column = paper_column(certificate)
    return Summary(
        *about,
        data=certificate.data.name,
        m=certificate.data.m,
        recipe=certificate.model.recipe,
        objective=objective(certificate),
        posterior=certificate.model.posterior,
        predictor=certificate.claim.predictor,
        delta=certificate.claim.delta,
        empirical_risk=empirical_risk(certificate),
        kl=certificate.kl.upper,
        risk_bound=certificate.claim.risk_bound,
        test_error=test_error(certificate),
        paper_bound=column.bound / 100 if column else None,
        training_log=log.path.as_posix() if log else None,
    )
