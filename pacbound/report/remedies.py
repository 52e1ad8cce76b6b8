"""Changes that would tighten a bound, with figures computed from the certificate alone.

Each remedy is done by a command. It changes one thing and keeps the rest, so it shows the cost of
that thing. Only the command shows whether the rest would stay the same, so every remedy states its
assumptions. Certifying again after seeing a certificate is a choice between two. So every remedy
states what the ledger must then declare, and its bound includes that cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from pacbound.bounds import codes
from pacbound.certificate.format import Certificate, Claim, Prior
from pacbound.predictors import PREDICTORS
from pacbound.predictors.waterfall import choices_cost, grid_cost
from pacbound.priors import prior_of
from pacbound.priors.learned import LEARNED
from pacbound.report.commands import certify_command, train_command
from pacbound.report.situation import Situation, factor, risk_limit, sampled_kl
from pacbound.report.terms import principal

__all__ = ["Remedy", "remedies"]

NEGLIGIBLE = 5e-6  # a smaller gain would be printed as 0
MORE = 10  # the factor for draws or samples
HALF = "0.5"  # the prior_fraction of a learned prior, if there is none yet


@dataclass(frozen=True)
class Remedy:
    """One change that would tighten the bound, and its effect."""

    change: str
    bound: float  # the expected bound, computed from the certificate, with the ledger paid
    gain: float  # the difference between the claim and this bound
    how: tuple[str, ...]  # the commands, with what they must declare
    ledger: str  # why they must declare it
    assumes: str  # the assumptions of the computation


@dataclass(frozen=True)
class Again:
    """What the ledger must declare for a certificate made after this one was seen."""

    options: Mapping[str, str]
    why: str


# The change, its figures, the commands, the ledger, and the assumptions.
Change: TypeAlias = tuple[str, Situation, tuple[str, ...], Again, str]


def remedies(certificate: Certificate) -> list[Remedy]:
    """The changes that would improve the principal claim, the best first."""
    claim = principal(certificate)
    claimed = float(claim.bound)
    found = []
    for change, situation, how, again, assumes in _changes(certificate, claim):
        if situation.m == 0:
            continue  # the learned prior would leave no example to count
        bound = situation.bound()
        if claimed - bound > NEGLIGIBLE:
            found.append(Remedy(change, bound, claimed - bound, how, again.why, assumes))
    return sorted(found, key=lambda remedy: remedy.bound)


def _changes(certificate: Certificate, claim: Claim) -> Iterator[Change]:
    present = Situation.of(certificate, claim)
    if not present.predictor.has_posterior:
        return  # only more examples or fewer trials would help
    yield from _of_the_inequality(certificate, present)
    if present.predictor.sampled:
        yield from _of_the_draws(certificate, claim, present)
        yield from _of_the_samples(certificate, claim, present)
    if prior_of(certificate).is_free_of_data:
        yield from _of_a_learned_prior(certificate, claim, present)
    if prior_of(certificate).learns:
        yield from _of_the_split(certificate, claim, present)
    yield from _of_the_predictor(certificate, claim, present)


# What the ledger must declare -----------------------------------------------------------------


def _next_place(certificate: Certificate) -> int:
    return certificate.ledger.certificates.number + 1


def _one_more_certificate(certificate: Certificate) -> Again:
    place = _next_place(certificate)
    return Again(
        {"place": str(place)},
        f"it is certificate number {place} on these examples, and replaces this one",
    )


def _one_more_candidate(certificate: Certificate) -> Again:
    candidates = 2 * certificate.ledger.user.candidates
    return Again({"candidates": str(candidates)}, "both inequalities were seen")


def _one_more_look(certificate: Certificate) -> Again:
    looks, place = certificate.ledger.user.looks + 1, _next_place(certificate)
    return Again(
        {"looks": str(looks), "place": str(place)},
        "this certificate was a look at the counted examples, and the prior changes because of it",
    )


def _factor_at_next_place(certificate: Certificate) -> float:
    return float(codes.certificates_factor("place", _next_place(certificate), 1.0))


def _certified_again(
    certificate: Certificate,
    claim: Claim,
    present: Situation,
    draws: int = 1,
    samples: int = 1,
    limit_by: str = "",
    tail: str = "",
) -> Situation:
    """The figures of the next certificate in order, sampled differently."""
    times, evidence = _factor_at_next_place(certificate), certificate.evidence
    if claim.delta_risk is None:
        return replace(present, ledger=present.ledger + math.log(times / factor(certificate)))
    level = math.log(times / float(claim.delta_risk))
    changed = replace(present, risk=risk_limit(claim, level, draws, limit_by))
    if evidence is not None and evidence.delta_kl is not None:
        level = math.log(times / float(evidence.delta_kl))
        changed = replace(changed, divergence=sampled_kl(certificate, level, samples, tail))
    return changed


# The changes ----------------------------------------------------------------------------------


def _of_the_inequality(certificate: Certificate, present: Situation) -> Iterator[Change]:
    """The other inequalities that the format allows here."""
    known, again = present.predictor.inequalities, _one_more_candidate(certificate)
    for name, other in known.items():
        if other.needs_validation and not present.validation[1]:
            continue
        if other.is_worth_trying and name != present.inequality:
            yield (
                f"{other.possessive} instead of {known[present.inequality].possessive}",
                replace(present, inequality=name, ledger=present.ledger + math.log(2)),
                (
                    certify_command(
                        certificate, {"inequality": name, "inequality-seen": "", **again.options}
                    ),
                ),
                again,
                "nothing: the same draws",
            )


def _of_the_draws(certificate: Certificate, claim: Claim, present: Situation) -> Iterator[Change]:
    """More draws of the risk, and another limit."""
    option = "draws" if claim.sampler == "per-example" else "weights"
    again = _one_more_certificate(certificate)
    yield (
        f"{MORE} times as many draws of the risk",
        _certified_again(certificate, claim, present, draws=MORE),
        (certify_command(certificate, {option: str(MORE * claim.trials), **again.options}),),
        again,
        "the same mean of the draws",
    )
    if claim.limit_by == "chernoff":
        yield (
            "the betting limit of the risk instead of Chernoff's",
            _certified_again(certificate, claim, present, limit_by="betting"),
            (certify_command(certificate, {"risk-limit": "betting", **again.options}),),
            again,
            "nothing: the same draws",
        )


def _of_the_samples(certificate: Certificate, claim: Claim, present: Situation) -> Iterator[Change]:
    """More samples of the KL, and another tail bound."""
    evidence, again = certificate.evidence, _one_more_certificate(certificate)
    if evidence is None or evidence.samples is None:
        return
    if evidence.tail != "gaussian":
        yield (
            "the Gaussian tail of the KL instead of Theorem 3's",
            _certified_again(certificate, claim, present, tail="gaussian"),
            (certify_command(certificate, {"kl-tail": "gaussian", **again.options}),),
            again,
            "nothing: the same samples",
        )
    yield (
        f"{MORE} times as many samples of the KL",
        _certified_again(certificate, claim, present, samples=MORE),
        (certify_command(certificate, {"samples": str(MORE * evidence.samples), **again.options}),),
        again,
        "the same mean of the samples",
    )


def _looked_once_more(certificate: Certificate, claim: Claim, present: Situation) -> Situation:
    changed = _certified_again(certificate, claim, present)
    return replace(changed, ledger=changed.ledger + math.log(2))


def _of_a_learned_prior(
    certificate: Certificate, claim: Claim, present: Situation
) -> Iterator[Change]:
    """A prior that knows what the posterior knows: only its default choices cost nats."""
    recipe, again = certificate.model.recipe or "", _one_more_look(certificate)
    default = codes.default_choices(LEARNED.name, recipe)
    assert default is not None
    known = replace(
        _looked_once_more(certificate, claim, present),
        inequality=present.predictor.rule(Prior(kind=LEARNED.name)),
        divergence=0.0,
        code=codes.choices_cost(LEARNED.name, recipe, {**default, "prior_fraction": HALF}, 1.0),
        m=_counted(present.m, HALF),
    )
    yield (
        "a prior that learned from half of the examples",
        known,
        (
            train_command(certificate, {"prior": "learned"}),
            certify_command(certificate, again.options, again=True),
        ),
        again,
        f"the same risk, and {present.predictor.divergence} = 0 to that prior",
    )


def _of_the_split(certificate: Certificate, claim: Claim, present: Situation) -> Iterator[Change]:
    """A prior that leaves more examples to count: the next smaller fraction on the list."""
    assert certificate.prior.choices is not None
    used = certificate.prior.choices.prior_fraction or ""
    place = codes.PRIOR_FRACTIONS.index(used)
    if place == 0:
        return
    fraction, again = codes.PRIOR_FRACTIONS[place - 1], _one_more_look(certificate)
    code = grid_cost(certificate) + choices_cost(certificate, prior_fraction=fraction)
    part = claim.m / certificate.data.m  # the claim's share of the counted examples
    yield (
        f"a prior that learned from {float(fraction):.0%} of the examples, not {float(used):.0%}",
        replace(
            _looked_once_more(certificate, claim, present),
            m=round(part * _counted(certificate.data.examples, fraction)),
            code=code,
        ),
        (
            train_command(certificate, {"prior": "learned", "prior-fraction": fraction}),
            certify_command(certificate, again.options, again=True),
        ),
        again,
        f"the same risk and {present.predictor.divergence}, from a prior that saw less",
    )


def _of_the_predictor(
    certificate: Certificate, claim: Claim, present: Situation
) -> Iterator[Change]:
    """Another claim: for one network, for single networks, or for the prior's centre."""
    again = _one_more_certificate(certificate)
    now = 1.0 if present.predictor.sampled else factor(certificate)
    for predictor in PREDICTORS.values():
        offer = predictor.offer(certificate, claim, present.predictor)
        if offer is None:
            continue
        paid, declared = math.log(_factor_at_next_place(certificate) / now), again
        if offer.is_same_event:
            paid, declared = 0.0, Again({}, "nothing: both follow from the same event")
        command = certify_command(certificate, declared.options, predictor)
        yield (
            offer.change,
            replace(
                present,
                predictor=predictor,
                inequality=offer.inequality,
                risk=offer.risk,
                share=offer.share,
                divergence=offer.divergence,
                code=offer.code,
                ledger=present.ledger + paid,
            ),
            (command,),
            declared,
            offer.assumes,
        )


def _nats_name(present: Situation) -> str:
    return present.predictor.divergence


def _counted(examples: int, fraction: str) -> int:
    """The number of examples left by a prior trained on this fraction (SPEC.md, 3.4)."""
    tenths = round(10 * float(fraction))
    return examples - (2 * tenths * examples + 10) // 20
