"""What would tighten a bound, in numbers computed from the certificate alone.

Each remedy changes one thing and leaves the rest, so it says what that thing costs. Whether the
rest would stay as it is, only training shows: every remedy says what it takes for granted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from pacbound.bounds import betting
from pacbound.bounds.prior_grid import index_cost
from pacbound.certificate.checker import CHOICES, choice, required_choices
from pacbound.certificate.format import (
    Certificate,
    LearnedCenter,
    MonteCarloKL,
    PerExampleRisk,
    PerWeightsRisk,
    WholeSetRisk,
)
from pacbound.report.situation import Situation, kl_limit, risk_limit
from pacbound.report.terms import empirical_risk

__all__ = ["Remedy", "remedies"]

NEGLIGIBLE = 5e-6  # a smaller gain would be printed as nothing
MORE = 10  # times as many draws or samples
MONTE_CARLO_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)  # of δ
LESS_CONFIDENCE = 0.1  # a δ to compare with
HALF = 0.5  # the prior_fraction of a learned prior, where there is none yet

# What is changed, the figures with it, how, and what is taken for granted.
Change: TypeAlias = tuple[str, Situation, str, str]


@dataclass(frozen=True)
class Remedy:
    """One change that would tighten the bound, and what it would give."""

    change: str
    bound: float  # that would follow, computed from the certificate
    gain: float  # from the claim down to it
    how: str  # the command, or empty where no option does it
    assumes: str  # what the computation takes for granted


def remedies(certificate: Certificate) -> list[Remedy]:
    """The changes that would gain something, the best first."""
    claimed = certificate.claim.risk_bound
    found = []
    for change, situation, how, assumes in _changes(certificate):
        bound = situation.bound()
        if claimed - bound > NEGLIGIBLE:
            found.append(Remedy(change, bound, claimed - bound, how, assumes))
    return sorted(found, key=lambda remedy: remedy.bound)


def _changes(certificate: Certificate) -> Iterator[Change]:
    present = Situation.of(certificate)
    yield from _of_the_inequality(present)
    yield from _of_the_draws(certificate, present)
    yield from _of_the_samples(certificate, present)
    yield from _of_the_posterior(certificate, present)
    yield from _of_the_examples(present)
    if isinstance(certificate.prior.center, LearnedCenter):
        yield from _of_the_split(certificate, certificate.prior.center, present)
    else:
        yield from _of_a_learned_prior(certificate, present)
    yield from _of_the_predictor(certificate, present)
    yield from _of_delta(certificate, present)


def _of_the_inequality(present: Situation) -> Iterator[Change]:
    if present.inequality != "maurer":
        yield (
            "Maurer's inequality instead of McAllester's",
            replace(present, inequality="maurer"),
            "pacbound certify CKPT --inequality maurer",
            "nothing; it is the smaller one at any figures",
        )


def _of_the_draws(certificate: Certificate, present: Situation) -> Iterator[Change]:
    """More draws of the risk, another limit of it, and no allowance at all."""
    risk, share = certificate.risk, certificate.budget.risk
    if isinstance(risk, WholeSetRisk):
        return
    option = "draws" if isinstance(risk, PerExampleRisk) else "weights"
    yield (
        f"{MORE} times as many draws of the risk",
        replace(present, risk=risk_limit(risk, share, MORE)),
        f"pacbound certify CKPT --{option} {MORE * risk.draws}",
        "the same mean of the draws",
    )
    if isinstance(risk, PerWeightsRisk) and risk.limit == "chernoff":
        yield (
            "the betting limit of the risk instead of Chernoff's",
            replace(present, risk=betting.risk_limit(risk.counts, risk.batch, share)),
            "pacbound certify CKPT --risk-limit betting",
            "draws that vary as much as these",
        )
    yield (
        "infinitely many draws of the risk",
        replace(present, risk=empirical_risk(certificate)),
        "",
        "the same mean of the draws; it is their limit",
    )


def _of_the_samples(certificate: Certificate, present: Situation) -> Iterator[Change]:
    """The other tail of a sampled KL, more samples, and no allowance at all."""
    kl, share, variances = certificate.kl, certificate.budget.kl, certificate.prior.variances
    if not isinstance(kl, MonteCarloKL):
        return
    if kl.tail != "gaussian":
        yield (
            "the Gaussian tail of the KL instead of Theorem 3's",
            replace(present, kl=kl.gaussian.upper),
            "pacbound certify CKPT --kl-tail gaussian",
            "nothing; both are computed from the same samples",
        )
    yield (
        f"{MORE} times as many samples of the KL",
        replace(present, kl=kl_limit(kl, variances, share, MORE)),
        f"pacbound certify CKPT --samples {MORE * kl.samples}",
        "the same mean of the samples",
    )
    yield (
        "infinitely many samples of the KL",
        replace(present, kl=_mean_kl(certificate)),
        "",
        "the same mean of the samples; it is their limit",
    )


def _of_the_posterior(certificate: Certificate, present: Situation) -> Iterator[Change]:
    """A smaller KL or a smaller risk: what training trades for one another."""
    simple = certificate.model.posterior in ("diag", "k-diag")
    how = f"pacbound train RECIPE {'--posterior k-linear' if simple else '--epochs N'}"
    if present.kl > 0:
        yield (
            f"half the {_nats_name(present)}",
            replace(present, kl=present.kl / 2),
            how,
            "the same risk",
        )
    estimate = empirical_risk(certificate)
    same = f"the same {_nats_name(present)}"
    same += "" if present.predictor == "draw" else " and Monte Carlo allowance"
    yield (
        "half the empirical risk",
        replace(present, risk=present.risk - estimate / 2),
        how,
        same,
    )
    held_out = certificate.also.held_out
    if held_out is not None and held_out.errors / held_out.n < estimate:
        rate = held_out.errors / held_out.n
        yield (
            f"an empirical risk as small as the held-out error, {rate:.2%}",
            replace(present, risk=present.risk - estimate + rate),
            "",
            same,
        )


def _of_the_examples(present: Situation) -> Iterator[Change]:
    twice, name = replace(present, m=2 * present.m), _nats_name(present)
    yield (
        f"twice as many examples, at the same {name}",
        twice,
        "",
        "the same risk, and nothing more to learn",
    )
    if present.kl > 0:
        yield (
            f"twice as many examples, at the same {name} per example",
            replace(twice, kl=2 * present.kl),
            "",
            "the same risk, and as much to learn from each",
        )


def _of_a_learned_prior(certificate: Certificate, present: Situation) -> Iterator[Change]:
    """A prior that knows what the posterior knows: only its choices are left to be paid for."""
    values = {entry.name: entry.value for entry in certificate.prior.choices}
    values |= {"split_seed": 0, "prior_fraction": HALF}
    indices = [choice(name, values[name]).index for name in required_choices(0, learned=True)]
    union = math.fsum(map(index_cost, indices)) + math.log(certificate.prior.trials)
    known = replace(present, kl=0.0, union=union)
    yield (
        "a prior that learned from half of the examples",
        replace(known, m=_counted(present.m, HALF)),
        "pacbound train RECIPE --prior learned",
        "the same risk, and a KL of 0 to that prior",
    )
    yield (
        "a prior that learned from other examples",
        known,
        "",
        "the same risk, and a KL of 0 to that prior",
    )


def _of_the_split(
    certificate: Certificate, center: LearnedCenter, present: Situation
) -> Iterator[Change]:
    """A prior that leaves more examples to be counted: the next smaller part that is declared."""
    used = next(entry for entry in certificate.prior.choices if entry.name == "prior_fraction")
    declared = [float(value) for value in CHOICES["prior_fraction"]]
    smaller = [value for value in declared if value < float(used.value)]
    if not smaller:
        return
    fraction = max(smaller)
    cost = index_cost(choice("prior_fraction", fraction).index) - index_cost(used.index)
    yield (
        f"a prior that learned from {fraction:.0%} of the examples, not {float(used.value):.0%}",
        replace(present, m=_counted(center.examples, fraction), union=present.union + cost),
        f"pacbound train RECIPE --prior-fraction {fraction}",
        f"the same risk and {_nats_name(present)}, from a prior that saw less",
    )


def _of_the_predictor(certificate: Certificate, present: Situation) -> Iterator[Change]:
    """Another claim: of one network, or of single networks where it is of their vote."""
    if present.predictor not in ("gibbs", "vote-gibbs"):
        return
    yield (
        "a certificate of one drawn network",
        replace(
            present,
            predictor="draw",
            inequality="maurer",
            share=certificate.claim.delta,
            risk=empirical_risk(certificate),
            kl=_mean_kl(certificate),
        ),
        "pacbound certify CKPT --predictor draw",
        "another claim; a draw like the average one",
    )
    if present.predictor == "vote-gibbs":
        yield (
            "a certificate of the randomised predictor",
            replace(present, predictor="gibbs"),
            "pacbound certify CKPT --predictor gibbs",
            "another claim, without a vote and its factor",
        )


def _of_delta(certificate: Certificate, present: Situation) -> Iterator[Change]:
    """δ divided otherwise, and a larger one."""
    delta = certificate.claim.delta
    if certificate.budget.risk:
        divided = [_shared(certificate, present, delta, part) for part in MONTE_CARLO_SHARES]
        best = min(divided, key=lambda situation: situation.bound())
        yield (
            f"δ divided otherwise: {best.share:.2g} of {delta:g} for the inequality",
            best,
            "",
            "a decision before sampling, and the same means",
        )
    if delta < LESS_CONFIDENCE:
        part = (certificate.budget.risk + certificate.budget.kl) / delta
        yield (
            f"less confidence: δ = {LESS_CONFIDENCE:g} instead of {delta:g}",
            _shared(certificate, present, LESS_CONFIDENCE, part),
            f"pacbound certify CKPT --delta {LESS_CONFIDENCE:g}",
            "another claim, which fails more often",
        )


def _shared(certificate: Certificate, present: Situation, delta: float, part: float) -> Situation:
    """The figures with this δ, and this part of it for Monte Carlo, divided as it is now."""
    risk, kl, budget = certificate.risk, certificate.kl, certificate.budget
    changed = replace(present, share=delta * (1 - part))
    if isinstance(risk, WholeSetRisk):
        return changed
    scale = delta * part / (budget.risk + budget.kl)
    changed = replace(changed, risk=risk_limit(risk, scale * budget.risk))
    if isinstance(kl, MonteCarloKL):
        limit = kl_limit(kl, certificate.prior.variances, scale * budget.kl)
        changed = replace(changed, kl=limit)
    return changed


def _nats_name(present: Situation) -> str:
    return "ln dq/dp" if present.predictor == "draw" else "KL"


def _mean_kl(certificate: Certificate) -> float:
    """The KL, without the allowance of a sampled one."""
    kl = certificate.kl
    if not isinstance(kl, MonteCarloKL):
        return kl.upper
    tail = kl.gaussian if kl.tail == "gaussian" else kl.theorem3
    return kl.upper - tail.correction


def _counted(examples: int, fraction: float) -> int:
    """How many examples a prior that learned from this part of them leaves."""
    return examples - round(Decimal(str(fraction)) * examples)
