"""The Gibbs predictor: fresh weights from the posterior for every prediction.

Its empirical risk is estimated by Monte Carlo and bounded by a PAC-Bayes inequality, which holds
for all posteriors at once. Votes are certified through the same evidence (`vote.py`).
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from pacbound.bounds import chernoff
from pacbound.bounds.inequalities import inequalities
from pacbound.bounds.inequality import MEAN
from pacbound.bounds.limits import LIMITS
from pacbound.bounds.rounding import exact, precise
from pacbound.certificate.format import Certificate, Claim, Prior, Seeds
from pacbound.predictors.base import Observed, Offer, Paid, Predictor, Situation, Term
from pacbound.predictors.waterfall import code_parts, shown, steps, tail_part
from pacbound.predictors.words import percent

__all__ = ["GIBBS", "bound", "limit", "not_claimed", "observe", "offer", "rule", "terms"]


def rule(prior: Prior) -> str:
    """Catoni's inequality if a validation part fixes its λ, otherwise Maurer's with ξ(m)."""
    validation = prior.validation
    return "catoni" if validation is not None and validation.examples else "xi"


def limit(claim: Claim, factor: Any) -> Decimal:
    """The upper confidence limit of a claim's empirical risk.

    Arguments:
        factor: F, an interval: ℓ = ln(F/delta_risk).
    """
    with precise():
        assert claim.delta_risk is not None
        level = (factor / exact(claim.delta_risk)).log()
        if claim.histogram is None:
            return chernoff.limit(claim.mean, claim.trials, level)
        assert claim.scale is not None and claim.limit_by is not None
        return LIMITS[claim.limit_by](claim.histogram, claim.scale, level)


def bound(paid: Paid, claim: Claim, inequality: str, factor: int = 1, networks: int = 1) -> Decimal:
    """The bound of a claim from its limit: `factor` times the bound for `networks` networks."""
    return inequalities(MEAN)[inequality].rate(paid.given(claim, networks, factor))


def terms(certificate: Certificate, claim: Claim, factor: int = 1, networks: int = 1) -> list[Term]:
    """The empirical risk, then the terms of Monte Carlo, KL, code, ledger and confidence."""
    given = shown(certificate, claim, networks)
    tail = networks * tail_part(certificate)
    name = "KL(q‖p)" if networks == 1 else "KL, of pairs"
    parts = [(name, given.divergence - tail)]
    if tail:
        parts.append(("Monte Carlo tail of the KL", tail))
    inequality = inequalities(MEAN)[certificate.bound.inequality]
    found = steps(claim, *inequality.terms(given, [*parts, *code_parts(certificate)]))
    if factor > 1:
        vote, one = float(claim.bound), found[-1].total
        found.append(Term("from networks to their vote", f"times {factor}", vote - one, vote))
    return found


def not_claimed(certificate: Certificate) -> list[str]:
    """A single kept network, and the vote."""
    points = [
        "One network: every prediction is made with weights drawn anew. A network that is "
        "kept, the mean of the weights and the average of predictions are other predictors "
        "(certify --predictor draw certifies a network that is kept).",
    ]
    if certificate.overall is not None:
        twice = percent(min(2 * certificate.overall.bound, Decimal(1)))
        points.append(
            "The majority vote of the networks: it errs at most twice as often, so its error "
            f"is at most {twice} %."
        )
    return points


def offer(certificate: Certificate, claim: Claim, other: Predictor) -> Offer | None:
    """Single networks, when their vote was certified through the risk of one of them."""
    if not other.sampled or other.networks > 1 or other.factor == 1:
        return None
    given = shown(certificate, claim)
    return Offer(
        change="a certificate of the randomised predictor",
        inequality=certificate.bound.inequality,
        risk=given.risk,
        share=given.delta,
        divergence=given.divergence,
        code=given.code,
        assumes="another claim, without a vote and its factor",
        is_same_event=True,
    )


def observe(at: Situation, networks: int = 1) -> Observed:
    """Sample the KL if it has no closed form, and the losses of every claim."""
    from pacbound.predictors.divergence import exact_primitives, sampled_primitives
    from pacbound.predictors.evidence import exact_kl, sampled_kl

    network, center = at.problem.network, at.problem.center
    if at.shares.kl is None:
        primitives = exact_primitives(network, center, at.grouping)
        variances, evidence = exact_kl(primitives, at.problem.variances)
    else:
        seed = at.seed("kl")
        sampled = sampled_primitives(network, center, at.grouping, at.samples, seed, at.sampler)
        variances, evidence = sampled_kl(
            sampled, at.samples, at.shares.kl, at.certificates, at.tail, at.problem.variances
        )
    claims, held_out = _risks(at, networks)
    seeds = Seeds(risk=at.seed("risk"), kl=None if at.shares.kl is None else at.seed("kl"))
    return Observed(claims, evidence, variances, seeds, held_out)


def _risks(at: Situation, networks: int) -> tuple[tuple[Claim, ...], tuple[int, int] | None]:
    """The losses of every claim on the counted examples, and the errors on the test examples.

    Every test example is evaluated once, with its own weights.
    """
    from pacbound.predictors.claims import DECIMALS
    from pacbound.predictors.risk import BATCH, Loss, losses_per_example, losses_per_weights
    from pacbound.seeds import derive

    losses = []
    for asked in at.claims:
        assert asked.members is not None
        units = asked.costs.units if asked.costs is not None else None
        losses.append(Loss(asked.members, units, 10**DECIMALS if units is not None else 1))
    network, seed = at.problem.network, at.seed("risk")
    test = at.test if networks == 1 else None
    drafts = []
    shared = zip(at.claims, losses, at.shares.claims, strict=True)
    if network.draws_per_example():
        passes = math.ceil(at.draws / len(at.train[1]))
        totals = losses_per_example(
            network, at.train, losses, passes, seed, at.sampler, networks, at.device
        )
        for (asked, loss, share), units_lost in zip(shared, totals, strict=True):
            m = len(loss.members)
            counts: dict[str, Any] = {"draws": passes * m}
            if asked.costs is None:
                counts["errors"] = units_lost
            else:
                counts["total"] = Decimal(units_lost).scaleb(-DECIMALS)
            drafts.append(
                asked.draft(m, share.delta, delta_risk=share.risk, sampler="per-example", **counts)
            )
        if test is None:
            return tuple(drafts), None
        everyone = [Loss(_all(test))]
        own_seed = derive("held out", seed)
        (wrong,) = losses_per_example(
            network, test, everyone, 1, own_seed, at.sampler, device=at.device
        )
        return tuple(drafts), (wrong, len(test[1]))
    found, (wrong, tested) = losses_per_weights(
        network, at.train, test, losses, at.weights, BATCH, seed, at.sampler, networks, at.device
    )
    for (asked, loss, share), (scale, histogram) in zip(shared, found, strict=True):
        drafts.append(
            asked.draft(
                len(loss.members),
                share.delta,
                delta_risk=share.risk,
                sampler="per-weights",
                scale=scale,
                histogram=histogram,
                limit_by=at.limit,
            )
        )
    return tuple(drafts), (wrong, tested) if tested else None


def _all(examples: Any) -> Any:
    import numpy as np

    return np.arange(len(examples[1]))


GIBBS = Predictor(
    name="gibbs",
    title="randomised: fresh weights for every prediction",
    options="--predictor gibbs",
    over=" and the Monte Carlo draws",
    who="the randomised predictor, which draws fresh weights for every prediction,",
    not_claimed=not_claimed,
    applied="Each input was predicted by its own network, drawn from the posterior: the "
    "randomised predictor that the certificate covers.",
    divergence="KL",
    subjects={
        "zero-one": ("all", "true-class", "group"),
        "cost": ("all", "true-class", "group"),
    },
    about=MEAN,
    rule=rule,
    observe=observe,
    bound=bound,
    terms=terms,
    sampled=True,
    offer=offer,
    is_default=True,
)
