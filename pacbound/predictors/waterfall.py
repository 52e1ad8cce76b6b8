"""The steps from the empirical risk to the bound, for the waterfall and for `explain`.

The figures are for display: floats, not proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pacbound.bounds import codes
from pacbound.bounds.inequality import Given
from pacbound.bounds.prior_grid import index_cost, variance
from pacbound.certificate.format import Certificate, Claim, Variance
from pacbound.predictors.base import Term

__all__ = ["choices_cost", "code_parts", "grid_cost", "shown", "steps", "tail_part"]


def shown(certificate: Certificate, claim: Claim, networks: int = 1) -> Given:
    """The inputs of a claim's bound, in floats except for its counts."""
    evidence, validation = certificate.evidence, certificate.prior.validation
    return Given(
        risk=claim.mean if claim.limit is None else float(claim.limit),
        errors=claim.errors,
        m=claim.m,
        delta=float(claim.delta),
        divergence=0.0 if evidence is None else networks * float(evidence.nats),
        code=float(certificate.bound.code),
        ledger=float(certificate.bound.ledger),
        validation=(validation.errors, validation.examples) if validation else (0, 0),
    )


def code_parts(certificate: Certificate) -> list[tuple[str, float]]:
    """The nonzero parts of code and ledger, in nats."""
    grid = grid_cost(certificate)
    found = [
        ("prior variance grid", grid),
        ("prior's other choices", float(certificate.bound.code) - grid),
        ("ledger", float(certificate.bound.ledger)),
    ]
    return [(name, nats) for name, nats in found if nats > 1e-5]


def grid_cost(certificate: Certificate) -> float:
    """The part of the code that pays for prior variances, in nats."""
    variances: Sequence[Variance] = certificate.prior.variances or ()
    indices = [place.index for place in variances if place.index is not None]
    return math.fsum(index_cost(index) for index in indices)


def choices_cost(certificate: Certificate, **changes: Any) -> float:
    """The cost of the prior's choices with some of them changed, in nats."""
    prior = certificate.prior
    assert prior.choices is not None
    chosen = {name: value for name, value in vars(prior.choices).items() if value is not None}
    chosen["blocks"] = tuple((block.layer, block.sizes) for block in prior.choices.blocks)
    recipe = certificate.model.recipe or ""
    return float(codes.choices_cost(prior.kind, recipe, {**chosen, **changes}, 1.0))


def tail_part(certificate: Certificate) -> float:
    """The amount that the Monte Carlo tail adds to the KL at the mean squares, in nats."""
    evidence, variances = certificate.evidence, certificate.prior.variances
    if evidence is None or evidence.kind != "monte-carlo" or variances is None:
        return 0.0
    plain = 0.0
    for group, place in zip(evidence.groups, variances, strict=True):
        value = float(place.value) if place.value is not None else variance(place.index)
        moment, d = float(group.mean_square or 0), place.parameters
        plain += (moment / value - d + d * math.log(value)) / 2 - float(group.log_det)
    return float(evidence.nats) - plain


OBSERVED = {
    "zero-one": "empirical risk",
    "abstention": "observed abstention",
    "cost": "observed mean cost",
}


def steps(
    claim: Claim, parts: Sequence[tuple[str, float]], value: Callable[[float], float]
) -> list[Term]:
    """The observed risk, the Monte Carlo allowance, then the effect of each part of the nats.

    Arguments:
        value: The bound as a function of the nats.
    """
    empirical = float(claim.mean)
    found = [Term(OBSERVED[claim.loss], f"{empirical:.2%}", empirical, empirical)]
    if claim.limit is not None:
        adds = float(claim.limit) - empirical
        found.append(Term("Monte Carlo allowance", f"{adds:.3%}", adds, float(claim.limit)))
    nats = 0.0
    for name, amount in parts:
        nats += amount
        total = value(nats)
        digits = 1 if abs(amount) >= 10 else 2
        found.append(Term(name, f"{amount:.{digits}f} nats", total - found[-1].total, total))
    return found
