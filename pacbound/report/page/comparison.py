"""Figures that stand beside a certificate's own, and are not part of its claim."""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.bounds import catoni
from pacbound.certificate.format import Certificate
from pacbound.report.paper import Cell, closest
from pacbound.report.terms import empirical_risk

__all__ = ["Beside", "beside_the_paper", "other_bounds", "paper_column", "test_error"]


@dataclass(frozen=True)
class Beside:
    """A figure of ours and the paper's, in per cent or nats."""

    name: str
    ours: float
    paper: float
    unit: str

    @property
    def change(self) -> float:
        """Ours, as a part more (or less, below 0) than the paper's."""
        return self.ours / self.paper - 1


def paper_column(certificate: Certificate) -> Cell | None:
    """The paper's column for the same network, posterior and objective, on the same data.

    The paper certifies Gibbs predictors around random initialisations, on all of MNIST.
    """
    data, model, center = certificate.data, certificate.model, certificate.prior.center
    if (data.name, data.m, center.kind) != ("mnist", 60_000, "initialization"):
        return None
    if certificate.claim.predictor != "gibbs":
        return None
    return closest(model.recipe, model.posterior, objective(certificate))


def objective(certificate: Certificate) -> str:
    """What was minimised in training, if the certificate says so."""
    named = certificate.made.settings.get("objective")
    return named if isinstance(named, str) else ""


def test_error(certificate: Certificate) -> float | None:
    """The error on held-out examples, where there were some."""
    held_out = certificate.also.held_out
    return held_out.errors / held_out.n if held_out else None


def beside_the_paper(certificate: Certificate, column: Cell) -> list[Beside]:
    """Bound, risk, test error and KL of both."""
    test = test_error(certificate)
    rows = [
        Beside("bound", 100 * certificate.claim.risk_bound, column.bound, "%"),
        Beside("empirical risk", 100 * empirical_risk(certificate), column.risk, "%"),
        Beside("KL(q‖p)", certificate.kl.upper, column.kl, "nats"),
    ]
    if test is not None:
        rows.insert(2, Beside("test error", 100 * test, column.test, "%"))
    return rows


def other_bounds(certificate: Certificate) -> list[tuple[str, float]]:
    """What other inequalities say at the same figures, and a test set."""
    also = certificate.also
    named = [
        ("McAllester, kl inverse", also.mcallester),
        ("Maurer, kl inverse", also.maurer),
        ("Pinsker", also.pinsker),
    ]
    rows = [(name, value) for name, value in named if value is not None]
    if also.catoni:
        beta = catoni.grid_beta(also.catoni.beta_index)
        rows.append((f"Catoni, β = {beta:g}", also.catoni.value))
    if also.held_out:
        errors, n = also.held_out.errors, also.held_out.n
        rows.append((f"held-out binomial, {errors} errors in {n}", also.held_out.upper))
    return rows
