"""Figures for comparison, which are not part of the claim."""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.certificate.format import Certificate
from pacbound.predictors import predictor_of
from pacbound.priors import prior_of
from pacbound.report.paper import Cell, closest
from pacbound.report.terms import observed

__all__ = [
    "Beside",
    "beside_the_paper",
    "inequality_name",
    "other_bounds",
    "paper_column",
    "test_error",
]


@dataclass(frozen=True)
class Beside:
    """A figure of ours and the paper's, in per cent or nats."""

    name: str
    ours: float
    paper: float
    unit: str

    @property
    def change(self) -> float:
        """The relative difference of ours to the paper's; negative if ours is smaller."""
        return self.ours / self.paper - 1


def paper_column(certificate: Certificate) -> Cell | None:
    """The paper's column for the same network, posterior and objective, on the same data.

    The paper certifies Gibbs predictors around random initialisations, on all of MNIST.
    """
    data, model = certificate.data, certificate.model
    is_free = prior_of(certificate).is_free_of_data
    if (data.name, data.m, is_free) != ("mnist", 60_000, True):
        return None
    predictor = predictor_of(certificate)
    if not predictor.sampled or predictor.factor > 1 or certificate.overall is None:
        return None
    return closest(model.recipe or "", model.posterior or "", objective(certificate))


def objective(certificate: Certificate) -> str:
    """The objective of training, if the certificate records it."""
    return certificate.made.settings.get("objective", "")


def test_error(certificate: Certificate) -> float | None:
    """The error on held-out examples, if there are any."""
    held_out = certificate.held_out
    if held_out is None or held_out.errors is None or held_out.examples is None:
        return None
    return held_out.errors / held_out.examples


def beside_the_paper(certificate: Certificate, column: Cell) -> list[Beside]:
    """Bound, risk, test error and KL, ours and the paper's."""
    test, overall, evidence = test_error(certificate), certificate.overall, certificate.evidence
    assert overall is not None and evidence is not None  # the paper's counterparts have both
    rows = [
        Beside("bound", 100 * certificate.risk_bound, column.bound, "%"),
        Beside("empirical risk", 100 * observed(overall), column.risk, "%"),
        Beside("KL(q‖p)", float(evidence.nats), column.kl, "nats"),
    ]
    if test is not None:
        rows.insert(2, Beside("test error", 100 * test, column.test, "%"))
    return rows


def other_bounds(certificate: Certificate) -> list[tuple[str, float]]:
    """The values of other inequalities for the first claim, and of a test set."""
    rows, known = [], predictor_of(certificate).inequalities
    for entry in certificate.also:
        if entry.name is not None and entry.value is not None:
            rows.append((known[entry.name].title, float(entry.value)))
        if entry.upper is not None:
            name = f"held-out binomial, {entry.errors} errors in {entry.examples}"
            rows.append((name, float(entry.upper)))
    return rows


def inequality_name(certificate: Certificate) -> str:
    """The inequality of the bounds, in words."""
    return predictor_of(certificate).inequalities[certificate.bound.inequality].title
