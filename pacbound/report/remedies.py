"""What would tighten a bound, in numbers computed from the certificate alone.

Each remedy is something that a command does. It changes one thing and leaves the rest, so it says
what that thing costs. Whether the rest would stay as it is, only the command shows: every remedy
says what it assumes. And who certifies again after having seen a certificate chooses between two:
every remedy says what the ledger must then declare, and its bound has paid for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pacbound.bounds import codes
from pacbound.certificate.format import SAMPLED, Certificate, Claim
from pacbound.report.situation import (
    Situation,
    factor,
    grid_cost,
    risk_limit,
    sampled_kl,
    vote_factor,
)
from pacbound.report.terms import observed, principal

__all__ = ["Remedy", "remedies"]

NEGLIGIBLE = 5e-6  # a smaller gain would be printed as nothing
MORE = 10  # times as many draws or samples
HALF = "0.5"  # the prior_fraction of a learned prior, where there is none yet
NAMES = {
    "mcallester": "McAllester's",
    "maurer": "Maurer's",
    "xi": "Maurer's with the constant ξ(m)",
    "catoni": "Catoni's",
    "binomial": "the binomial tail of a draw",
    "density": "the density ratio of a draw",
}


@dataclass(frozen=True)
class Remedy:
    """One change that would tighten the bound, and what it would give."""

    change: str
    bound: float  # that would follow, computed from the certificate, the ledger paid
    gain: float  # from the claim down to it
    how: tuple[str, ...]  # the commands, with what they must declare
    ledger: str  # why they must declare it
    assumes: str  # what the computation takes for granted


@dataclass(frozen=True)
class Again:
    """What the ledger must declare of a certificate that is made after this one was seen."""

    options: str
    why: str


# What is changed, the figures with it, the commands, the ledger, and what is assumed.
Change: TypeAlias = tuple[str, Situation, tuple[str, ...], Again, str]


def remedies(certificate: Certificate) -> list[Remedy]:
    """The changes that would gain something for the principal claim, the best first."""
    claim = principal(certificate)
    claimed = float(claim.bound)
    found = []
    for change, situation, how, again, assumes in _changes(certificate, claim):
        if situation.m == 0:
            continue  # a prior that learned leaves no example to be counted
        bound = situation.bound()
        if claimed - bound > NEGLIGIBLE:
            found.append(Remedy(change, bound, claimed - bound, how, again.why, assumes))
    return sorted(found, key=lambda remedy: remedy.bound)


def _changes(certificate: Certificate, claim: Claim) -> Iterator[Change]:
    if certificate.predictor == "fixed":
        return  # nothing but more examples, or having tried less
    present = Situation.of(certificate, claim)
    yield from _of_the_inequality(certificate, present)
    if certificate.predictor in SAMPLED:
        yield from _of_the_draws(certificate, claim, present)
        yield from _of_the_samples(certificate, claim, present)
    if certificate.prior.kind == "initialised":
        yield from _of_a_learned_prior(certificate, claim, present)
    if certificate.prior.kind == "learned":
        yield from _of_the_split(certificate, claim, present)
    yield from _of_the_predictor(certificate, claim, present)
    if claim.loss == "zero-one" and claim.subject == "all":
        yield from _of_the_centre(certificate, claim, present)


def _certify(certificate: Certificate, *options: str) -> str:
    """The command that certifies the same predictor with these options."""
    how = {
        "draw": ["--predictor draw"],
        "vote-gibbs": ["--predictor vote"],
        "vote-tandem": ["--predictor vote", "--vote-by tandem"],
    }
    chosen = how.get(certificate.predictor, [])
    return " ".join(["pacbound certify CKPT", *chosen, *options])


# What the ledger must declare -----------------------------------------------------------------


def _next_place(certificate: Certificate) -> int:
    return certificate.ledger.certificates.number + 1


def _one_more_certificate(certificate: Certificate) -> Again:
    place = _next_place(certificate)
    return Again(
        f"--place {place}",
        f"it is certificate number {place} on these examples, and replaces this one",
    )


def _one_more_candidate(certificate: Certificate) -> Again:
    candidates = 2 * certificate.ledger.user.candidates
    return Again(f"--candidates {candidates}", "both inequalities were seen")


def _one_more_look(certificate: Certificate) -> Again:
    looks, place = certificate.ledger.user.looks + 1, _next_place(certificate)
    return Again(
        f"--looks {looks} --place {place}",
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
    """The figures at the next place in the order of certificates, sampled otherwise."""
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
    if present.predictor == "draw":
        others = ["binomial", "density"]
    else:
        others = ["xi", *(["catoni"] if present.validation[1] else [])]
    again = _one_more_candidate(certificate)
    for name in others:
        if name != present.inequality:
            yield (
                f"{NAMES[name]} instead of {NAMES[present.inequality]}",
                replace(present, inequality=name, ledger=present.ledger + math.log(2)),
                (_certify(certificate, f"--inequality {name} --inequality-seen", again.options),),
                again,
                "nothing: the same draws",
            )


def _of_the_draws(certificate: Certificate, claim: Claim, present: Situation) -> Iterator[Change]:
    """More draws of the risk, and another limit of it."""
    option = "draws" if claim.sampler == "per-example" else "weights"
    again = _one_more_certificate(certificate)
    yield (
        f"{MORE} times as many draws of the risk",
        _certified_again(certificate, claim, present, draws=MORE),
        (_certify(certificate, f"--{option} {MORE * claim.trials}", again.options),),
        again,
        "the same mean of the draws",
    )
    if claim.limit_by == "chernoff":
        yield (
            "the betting limit of the risk instead of Chernoff's",
            _certified_again(certificate, claim, present, limit_by="betting"),
            (_certify(certificate, "--risk-limit betting", again.options),),
            again,
            "nothing: the same draws",
        )


def _of_the_samples(certificate: Certificate, claim: Claim, present: Situation) -> Iterator[Change]:
    """More samples of the KL, and another tail of it."""
    evidence, again = certificate.evidence, _one_more_certificate(certificate)
    if evidence is None or evidence.samples is None:
        return
    if evidence.tail != "gaussian":
        yield (
            "the Gaussian tail of the KL instead of Theorem 3's",
            _certified_again(certificate, claim, present, tail="gaussian"),
            (_certify(certificate, "--kl-tail gaussian", again.options),),
            again,
            "nothing: the same samples",
        )
    yield (
        f"{MORE} times as many samples of the KL",
        _certified_again(certificate, claim, present, samples=MORE),
        (_certify(certificate, f"--samples {MORE * evidence.samples}", again.options),),
        again,
        "the same mean of the samples",
    )


def _looked_once_more(certificate: Certificate, claim: Claim, present: Situation) -> Situation:
    changed = _certified_again(certificate, claim, present)
    return replace(changed, ledger=changed.ledger + math.log(2))


def _of_a_learned_prior(
    certificate: Certificate, claim: Claim, present: Situation
) -> Iterator[Change]:
    """A prior that knows what the posterior knows: only its default choices are paid for."""
    recipe, again = certificate.model.recipe or "", _one_more_look(certificate)
    default = codes.default_choices("learned", recipe)
    assert default is not None
    known = replace(
        _looked_once_more(certificate, claim, present),
        inequality="binomial" if present.predictor == "draw" else "xi",
        divergence=0.0,
        code=codes.choices_cost("learned", recipe, {**default, "prior_fraction": HALF}, 1.0),
        m=_counted(present.m, HALF),
    )
    yield (
        "a prior that learned from half of the examples",
        known,
        ("pacbound train RECIPE --prior learned", _certify(certificate, again.options)),
        again,
        f"the same risk, and {_nats_name(present)} = 0 to that prior",
    )


def _of_the_split(certificate: Certificate, claim: Claim, present: Situation) -> Iterator[Change]:
    """A prior that leaves more examples to be counted: the next smaller part on the list."""
    choices, recipe = _choices(certificate), certificate.model.recipe or ""
    used = choices["prior_fraction"]
    place = codes.PRIOR_FRACTIONS.index(used)
    if place == 0:
        return
    fraction, again = codes.PRIOR_FRACTIONS[place - 1], _one_more_look(certificate)
    code = grid_cost(certificate) + codes.choices_cost(
        "learned", recipe, {**choices, "prior_fraction": fraction}, 1.0
    )
    part = claim.m / certificate.data.m  # of the counted examples, if the claim is about some
    yield (
        f"a prior that learned from {float(fraction):.0%} of the examples, not {float(used):.0%}",
        replace(
            _looked_once_more(certificate, claim, present),
            m=round(part * _counted(certificate.data.examples, fraction)),
            code=code,
        ),
        (
            f"pacbound train RECIPE --prior learned --prior-fraction {fraction}",
            _certify(certificate, again.options),
        ),
        again,
        f"the same risk and {_nats_name(present)}, from a prior that saw less",
    )


def _of_the_predictor(
    certificate: Certificate, claim: Claim, present: Situation
) -> Iterator[Change]:
    """Another claim: of one network, or of single networks where it is of their vote."""
    if present.predictor not in ("gibbs", "vote-gibbs"):
        return
    again, evidence = _one_more_certificate(certificate), certificate.evidence
    assert evidence is not None
    is_sampled = evidence.kind == "monte-carlo"
    every_share = float(claim.delta + (claim.delta_risk or 0))
    yield (
        "a certificate of one drawn network",
        replace(
            present,
            predictor="draw",
            inequality="density" if certificate.prior.kind == "initialised" else "binomial",
            share=every_share + float(evidence.delta_kl or 0),
            risk=observed(claim),
            divergence=sampled_kl(certificate, None) if is_sampled else present.divergence,
            ledger=present.ledger + math.log(_factor_at_next_place(certificate)),
        ),
        (f"pacbound certify CKPT --predictor draw {again.options}",),
        again,
        "another claim; a draw like the average one",
    )
    if vote_factor(present.predictor) > 1:
        yield (
            "a certificate of the randomised predictor",
            replace(present, predictor="gibbs"),
            ("pacbound certify CKPT --predictor gibbs",),
            Again("", "nothing: both follow from the same event"),
            "another claim, without a vote and its factor",
        )


def _of_the_centre(certificate: Certificate, claim: Claim, present: Situation) -> Iterator[Change]:
    """The prior's centre alone, whose errors on its validation part are known."""
    errors, examples = present.validation
    if certificate.prior.kind != "learned" or not examples:
        return
    again, evidence = _one_more_certificate(certificate), certificate.evidence
    shares = [claim.delta, claim.delta_risk, evidence.delta_kl if evidence else None]
    now = factor(certificate) if certificate.predictor == "draw" else 1.0
    recipe = certificate.model.recipe or ""
    yield (
        "a certificate of the prior's centre",
        replace(
            present,
            predictor="fixed",
            inequality="binomial",
            share=float(sum(filter(None, shares))),
            risk=errors / examples,
            divergence=0.0,
            code=codes.choices_cost("learned", recipe, _choices(certificate), 1.0),
            ledger=present.ledger + math.log(_factor_at_next_place(certificate) / now),
        ),
        (f"pacbound certify CKPT --predictor fixed {again.options}",),
        again,
        f"another claim; as many errors as on the centre's {examples} validation examples",
    )


def _choices(certificate: Certificate) -> dict[str, Any]:
    """The prior's choices by name, as `codes` takes them."""
    choices = certificate.prior.choices
    assert choices is not None
    named = {name: value for name, value in vars(choices).items() if value is not None}
    return {**named, "blocks": tuple((block.layer, block.sizes) for block in choices.blocks)}


def _nats_name(present: Situation) -> str:
    return "ln dq/dp" if present.predictor == "draw" else "KL"


def _counted(examples: int, fraction: str) -> int:
    """How many examples a prior that learned from this part of them leaves (SPEC.md, 3.4)."""
    tenths = round(10 * float(fraction))
    return examples - (2 * tenths * examples + 10) // 20
