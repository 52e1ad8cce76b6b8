"""From primitives to the bound: every number of the certificate on its safe side."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pacbound.bounds import binomial, catoni, maurer, mcallester, pinsker
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.bounds.chernoff import risk_limit
from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.prior_grid import index_cost, variance
from pacbound.bounds.rounding import exact, precise, round_up
from pacbound.certificate.format import (
    Also,
    Bound,
    Catoni,
    ExactKL,
    HeldOut,
    KLGroup,
    PerExampleRisk,
    Prior,
)
from pacbound.certify.budget import Shares

__all__ = ["INEQUALITIES", "Conclusion", "conclude", "held_out_limit"]

INEQUALITIES = {"mcallester": mcallester.complexity, "maurer": maurer.complexity}


def _published(number: float) -> Any:
    """The decimal that a certificate prints, which is what the checker reads."""
    return exact(repr(number))


@dataclass(frozen=True)
class Conclusion:
    """The parts of a certificate that follow from its primitives."""

    kl: ExactKL
    risk: PerExampleRisk
    bound: Bound
    also: Also


def conclude(
    m: int,
    prior: Prior,
    groups: tuple[KLGroup, ...],
    errors: int,
    draws: int,
    shares: Shares,
    inequality: str,
    held_out: HeldOut | None,
) -> Conclusion:
    """KL, risk limit, complexity and bound, and what other inequalities would give."""
    with precise():
        kl_upper = round_up(
            sum(
                gaussian_kl(
                    _published(group.trace) + _published(group.distance_sq),
                    _published(group.log_det),
                    place.parameters,
                    variance(exact(place.index)),
                )
                for group, place in zip(groups, prior.variances, strict=True)
            )
        )
        indices = [place.index for place in prior.variances]
        indices += [choice.index for choice in prior.choices]
        union = sum((index_cost(exact(index)) for index in indices), exact(prior.trials).log())
        nats = _published(kl_upper) + union
        delta = exact(shares.pac_bayes)
        complexities = {
            name: round_up(formula(nats, exact(m), delta)) for name, formula in INEQUALITIES.items()
        }
        risk_upper = risk_limit(errors, draws, shares.risk)
        risk = _published(risk_upper)
        k = catoni.best_index(risk_upper, float(nats), m, float(shares.pac_bayes))
        with_beta = nats + index_cost(exact(k))
        catoni_value = catoni.bound(risk, with_beta, exact(m), delta, catoni.grid_beta(exact(k)))
        pinsker_value = pinsker.bound(risk, nats, exact(m), delta)
    values = {name: bernoulli_kl_inverse(risk_upper, c) for name, c in complexities.items()}
    return Conclusion(
        kl=ExactKL("exact", kl_upper, groups),
        risk=PerExampleRisk("per-example", draws, errors, "chernoff", risk_upper),
        bound=Bound(inequality, complexities[inequality], values[inequality]),
        also=Also(
            mcallester=values["mcallester"],
            maurer=values["maurer"],
            pinsker=round_up(pinsker_value),
            catoni=Catoni(k, round_up(catoni_value)),
            held_out=held_out,
        ),
    )


def held_out_limit(errors: int, n: int, delta: Decimal) -> HeldOut:
    """The binomial bound from a test set of which every example was judged once."""
    return HeldOut(n, errors, binomial.upper_limit(errors, n, delta))
