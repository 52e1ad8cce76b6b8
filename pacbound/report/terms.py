"""Where a bound comes from: what each term adds to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pacbound.certificate.format import Certificate, Claim
from pacbound.report.situation import (
    NETWORKS,
    Situation,
    grid_cost,
    sampled_kl,
    vote_factor,
)

__all__ = ["Term", "observed", "principal", "terms"]


@dataclass(frozen=True)
class Term:
    """One step from the observed rate to the bound."""

    name: str
    amount: str  # in its own unit
    adds: float  # to the bound, after the steps before it
    total: float  # the bound so far


def principal(certificate: Certificate) -> Claim:
    """The claim on the error over all inputs; without one, the first claim."""
    return certificate.overall or certificate.claims[0]


def observed(claim: Claim) -> float:
    """The mean loss on the counted examples: counted, or estimated by Monte Carlo."""
    return float(claim.mean)


OBSERVED = {
    "zero-one": "empirical risk",
    "abstention": "observed abstention",
    "cost": "observed mean cost",
}


def terms(certificate: Certificate, claim: Claim | None = None) -> list[Term]:
    """The observed rate, the Monte Carlo allowance, and the pieces of the complexity.

    The pieces are: confidence, divergence, its Monte Carlo tail, the code of the prior, the ledger,
    and for votes the step from networks to their vote. Each adds to what the pieces before it give.
    """
    claim = claim or principal(certificate)
    whole, estimate = Situation.of(certificate, claim), observed(claim)
    steps = [Term(OBSERVED[claim.loss], f"{estimate:.2%}", estimate, estimate)]

    def step(name: str, amount: str, total: float) -> None:
        steps.append(Term(name, amount, total - steps[-1].total, total))

    if claim.limit is not None:
        limit = float(claim.limit)
        step("Monte Carlo allowance", f"{limit - estimate:.3%} of risk", limit)
    if whole.inequality == "catoni":
        lambda_ = whole.trade_off()
        least = math.expm1(-lambda_ * whole.risk) / math.expm1(-lambda_)
        step("Catoni's trade-off, fixed beforehand", f"λ = {lambda_:.3g}", least)
    for name, nats, situation in _pieces(certificate, whole):
        step(name, _nats(nats), situation.bound())
    times = vote_factor(certificate.predictor)
    if times > 1:
        step("from networks to their vote", f"times {times}", float(claim.bound))
    # The certificate's own figure, which is rounded up.
    last = steps[-1]
    bound = float(claim.bound)
    steps[-1] = replace(last, adds=bound - (last.total - last.adds), total=bound)
    return steps


def _pieces(certificate: Certificate, whole: Situation) -> Iterator[tuple[str, float, Situation]]:
    """Name, nats, and the figures up to there, before the networks vote."""
    draws = whole.predictor == "draw" and whole.inequality == "binomial"
    networks = NETWORKS.get(whole.predictor, 1)
    nothing = -math.inf if draws else 0.0
    so_far = replace(whole, divergence=nothing, code=0.0, ledger=0.0)
    yield "confidence", so_far.confidence(), _alone(so_far)
    evidence = certificate.evidence
    if evidence is not None:
        mean = whole.divergence
        if evidence.kind == "monte-carlo":
            mean = sampled_kl(certificate, None)
        names = {"vote-tandem": "KL, of pairs", "draw": "ln dq/dp of the draw"}
        before, so_far = so_far, replace(so_far, divergence=mean)
        yield names.get(whole.predictor, "KL(q‖p)"), _paid(before, so_far), _alone(so_far)
        if evidence.kind == "monte-carlo":
            before, so_far = so_far, replace(so_far, divergence=whole.divergence)
            nats = networks * (whole.divergence - mean)
            yield "Monte Carlo tail of the KL", nats, _alone(so_far)
    grid = grid_cost(certificate)
    for name, code in (("prior variance grid", grid), ("prior's other choices", whole.code)):
        if code - so_far.code > 1e-9:
            before, so_far = so_far, replace(so_far, code=code)
            yield name, _paid(before, so_far), _alone(so_far)
    if whole.ledger > 0:
        so_far = replace(so_far, ledger=whole.ledger)
        yield "ledger", whole.ledger, _alone(so_far)


def _alone(situation: Situation) -> Situation:
    """The same figures for the networks' own risk, where they vote."""
    if vote_factor(situation.predictor) == 1:
        return situation
    networks = NETWORKS.get(situation.predictor, 1)
    return replace(situation, predictor="gibbs", divergence=networks * situation.divergence)


def _paid(before: Situation, after: Situation) -> float:
    """By how many nats the level or the complexity rises."""
    if after.inequality == "binomial":
        return after.level() - before.level()
    return after.nats - before.nats


def _nats(amount: float) -> str:
    return f"{amount:.1f} nats" if abs(amount) >= 10 else f"{amount:.2f} nats"
