"""One network, drawn once from the posterior with a seed that follows from the digests.

Its errors on the counted examples are counted; ln(dq/dp) at the drawn weights stands for the KL. No
share of δ goes to Monte Carlo.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from pacbound.bounds import binomial, draw_tail, xi
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse, kl_inverse_rate
from pacbound.bounds.rounding import exact, precise
from pacbound.certificate.format import Certificate, Claim, Prior, Seeds
from pacbound.predictors.base import Observed, Paid, Predictor, Situation, Term
from pacbound.predictors.waterfall import code_parts, steps

__all__ = ["DRAW", "bound", "observe", "rule", "terms", "upper_limit"]


def rule(prior: Prior) -> str:
    """The binomial form around a prior near the posterior; else ln dq/dp may be thousands."""
    return "density" if prior.kind == "initialised" else "binomial"


def upper_limit(claim: Claim, level: Any) -> Decimal:
    """The binomial limit of errors, or Chernoff's of costs, at the level ln(1/δ); in `precise`."""
    if claim.errors is not None:
        return binomial.limit(claim.errors, claim.m, level)
    return kl_inverse_rate(claim.mean, level / claim.m)


def bound(paid: Paid, claim: Claim, inequality: str) -> Decimal:
    """The bound of a claim from its counts."""
    with precise():
        ratio, ledger, delta = paid.evidence + paid.code, exact(paid.ledger), exact(claim.delta)
        if inequality == "density":
            complexity = xi.complexity(exact(ratio) + ledger, exact(claim.m), delta)
            return kl_inverse_rate(claim.mean, complexity)
        return upper_limit(claim, (1 / delta).log() + ledger + draw_tail.nats(exact(ratio)))


def terms(certificate: Certificate, claim: Claim) -> list[Term]:
    """The risk of the drawn network, then what density ratio, code, ledger and confidence add."""
    assert certificate.evidence is not None
    risk, m = float(claim.mean), claim.m
    ratio = float(certificate.evidence.nats)
    parts = [("ln dq/dp of the draw", ratio), *code_parts(certificate)]
    if certificate.bound.inequality == "density":
        confidence = xi.complexity(0.0, float(m), float(claim.delta)) * m
        parts.append(("confidence of the inequality", float(confidence)))
        return steps(claim, parts, lambda nats: bernoulli_kl_inverse(risk, max(nats / m, 0.0)))
    # f(D) is not linear in its nats: first what D = 1 costs, then what this D does.
    at_one, whole = draw_tail.nats(0.0), draw_tail.nats(ratio + float(certificate.bound.code))
    parts = [
        ("confidence of the limit", math.log(1 / float(claim.delta))),
        ("one draw from a posterior", at_one),
        ("ln dq/dp of the draw, and code", whole - at_one),
        ("ledger", float(certificate.bound.ledger)),
    ]

    def value(nats: float) -> float:
        with precise():
            return float(upper_limit(claim, exact(nats)))

    return steps(claim, [part for part in parts if part[1]], value)


def observe(at: Situation) -> Observed:
    """Draw the network and count its errors on every counted example."""
    from pacbound.networks.digests import tensors_digest
    from pacbound.predictors.counting import counted_claims
    from pacbound.predictors.drawing import draw_network
    from pacbound.predictors.evidence import drawn
    from pacbound.predictors.risk import errors_of, judge

    problem = at.problem
    found = draw_network(problem.network, problem.center, at.grouping, at.seed("draw"))
    problem.plain.load_state_dict(found.weights)
    variances, evidence = drawn(found.groups, tensors_digest(found.weights), problem.variances)
    at.sampler.report("counting errors", 0, 1)
    judged = judge(problem.plain, at.train)
    claims = counted_claims(
        at.claims, at.shares.claims, at.train[1].numpy(), judged.wrong, judged.possible
    )
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
    over=" and of the network",
    who="the one network that was drawn from the posterior,",
    subjects={"zero-one": _SUBJECTS, "abstention": ("all",), "cost": _SUBJECTS},
    inequalities=("binomial", "density"),
    also=("binomial", "density"),
    rule=rule,
    observe=observe,
    bound=bound,
    terms=terms,
    sampled=False,
)
