"""One network, drawn once from the posterior with a seed derived from the digests.

Its errors on the counted examples are counted. ln(dq/dp) at the drawn weights replaces the KL.
Monte Carlo needs no share of δ.
"""

from __future__ import annotations

from decimal import Decimal

from pacbound.bounds.inequalities import inequalities
from pacbound.bounds.inequality import DRAW as ONE
from pacbound.certificate.format import Certificate, Claim, Prior, Seeds
from pacbound.predictors.base import Observed, Offer, Paid, Predictor, Situation, Term
from pacbound.predictors.waterfall import code_parts, shown, steps, tail_part
from pacbound.priors import PRIORS

__all__ = ["DRAW", "bound", "not_claimed", "observe", "offer", "rule", "terms"]


def rule(prior: Prior) -> str:
    """The binomial form for a prior near the posterior; otherwise ln dq/dp may be thousands."""
    return "density" if PRIORS[prior.kind].is_free_of_data else "binomial"


def bound(paid: Paid, claim: Claim, inequality: str) -> Decimal:
    """The bound of a claim from its counts."""
    return inequalities(ONE)[inequality].rate(paid.given(claim))


def terms(certificate: Certificate, claim: Claim) -> list[Term]:
    """The risk of the drawn network, then the terms of density ratio, code, ledger, confidence."""
    given = shown(certificate, claim)
    parts = [("ln dq/dp of the draw", given.divergence), *code_parts(certificate)]
    inequality = inequalities(ONE)[certificate.bound.inequality]
    return steps(claim, *inequality.terms(given, parts))


def not_claimed(certificate: Certificate) -> list[str]:
    """Networks other than the drawn one."""
    return [
        "Any other network: not another draw, the mean of the weights or an ensemble, and not "
        "this one after pruning, quantising or further training. Its weights have a digest.",
    ]


def offer(certificate: Certificate, claim: Claim, other: Predictor) -> Offer | None:
    """One network, when the mean over all networks was certified."""
    evidence = certificate.evidence
    if not other.sampled or other.networks > 1 or evidence is None:
        return None
    shares = claim.delta + (claim.delta_risk or 0) + (evidence.delta_kl or 0)
    return Offer(
        change="a certificate of one drawn network",
        inequality=rule(certificate.prior),
        risk=float(claim.mean),
        share=float(shares),
        divergence=float(evidence.nats) - tail_part(certificate),
        code=float(certificate.bound.code),
        assumes="another claim; a draw like the average one",
    )


def observe(at: Situation) -> Observed:
    """Draw the network and count its errors on every counted example."""
    from pacbound.networks.digests import tensors_digest
    from pacbound.networks.values import take_values, values_of
    from pacbound.predictors.counting import counted_claims
    from pacbound.predictors.drawing import draw_network
    from pacbound.predictors.evidence import drawn
    from pacbound.predictors.risk import errors_of, judge

    problem = at.problem
    found = draw_network(problem.network, problem.center, at.grouping, at.seed("draw"))
    take_values(problem.plain, found.weights)
    digest = tensors_digest(values_of(problem.plain))
    variances, evidence = drawn(found.groups, digest, problem.variances)
    at.sampler.report("counting errors", 0, 1)
    judged = judge(problem.plain, at.train, at.answer_above)
    claims = counted_claims(at.claims, at.shares.claims, at.train[1].numpy(), judged)
    held_out = None
    if at.test is not None:
        held_out = errors_of(problem.plain, at.test), len(at.test[1])
    at.sampler.report("counting errors", 1, 1)
    return Observed(
        claims, evidence, variances, Seeds(draw=at.seed("draw")), held_out, problem.plain
    )


_SUBJECTS = ("all", "answered", "true-class", "predicted-class", "group")
DRAW = Predictor(
    name="draw",
    title="one network, drawn from the posterior",
    options="--predictor draw",
    over=" and of the network",
    who="the one network that was drawn from the posterior,",
    not_claimed=not_claimed,
    applied="Predicted by the one drawn network that the certificate covers.",
    divergence="ln dq/dp",
    subjects={"zero-one": _SUBJECTS, "abstention": ("all",), "cost": _SUBJECTS},
    about=ONE,
    rule=rule,
    observe=observe,
    bound=bound,
    terms=terms,
    sampled=False,
    offer=offer,
    exports_network=True,
)
