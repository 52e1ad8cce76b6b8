"""The figures that a claim's bound is computed from, to be changed one at a time.

These are for drawings, tables and suggestions: floats, and not the proofs of a certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pacbound.bounds import (
    betting,
    binomial,
    catoni_fixed,
    chernoff,
    draw_tail,
    gaussian_tail,
    maurer,
    mcallester,
    theorem3,
    xi,
)
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.bounds.codes import certificates_factor
from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.prior_grid import index_cost, variance
from pacbound.bounds.rounding import exact, precise
from pacbound.certificate.format import Certificate, Claim, Group, Variance

__all__ = [
    "NETWORKS",
    "Situation",
    "factor",
    "grid_cost",
    "risk_limit",
    "sampled_kl",
    "vote_factor",
]

# What a complexity in nats per example is, by inequality.
COMPLEXITIES: dict[str, Callable[[float, float, float], float]] = {
    "mcallester": mcallester.complexity,
    "maurer": maurer.complexity,
    "xi": xi.complexity,
    "density": xi.complexity,
}
VOTES = {"vote-gibbs": 2, "vote-tandem": 4}  # times the bound on the risk of the networks
NETWORKS = {"vote-tandem": 2}  # networks that are drawn together


def vote_factor(predictor: str) -> int:
    """By what the bound on the networks' risk is multiplied: 1 unless they vote."""
    return VOTES.get(predictor, 1)


@dataclass(frozen=True)
class Situation:
    """One claim: an observed rate, nats, and what else its bound follows from."""

    predictor: str
    inequality: str
    is_rate_of_costs: bool  # and not of errors or abstentions, which are counted
    risk: float  # the upper limit, or the rate of a counted predictor
    m: int
    share: float  # of δ, for the inequality
    divergence: float  # the KL of one network, or the log-density ratio of the draw
    code: float  # nats
    ledger: float  # nats
    validation: tuple[int, int] = (0, 0)  # errors among examples, for Catoni's trade-off

    @classmethod
    def of(cls, certificate: Certificate, claim: Claim) -> Situation:
        """The figures of a claim."""
        evidence, validation = certificate.evidence, certificate.prior.validation
        return cls(
            predictor=certificate.predictor,
            inequality=certificate.bound.inequality,
            is_rate_of_costs=claim.loss == "cost",
            risk=float(claim.mean if claim.limit is None else claim.limit),
            m=claim.m,
            share=float(claim.delta),
            divergence=0.0 if evidence is None else float(evidence.nats),
            code=float(certificate.bound.code),
            ledger=float(certificate.bound.ledger),
            validation=(validation.errors, validation.examples) if validation else (0, 0),
        )

    @property
    def nats(self) -> float:
        """Divergence, code and ledger together."""
        return NETWORKS.get(self.predictor, 1) * self.divergence + self.code + self.ledger

    def bound(self) -> float:
        """What these figures imply."""
        if self.inequality == "binomial":
            return self._binomial_bound()
        if self.inequality == "catoni":
            risk = catoni_fixed.bound(self.risk, self.nats, self.m, self.share, self.trade_off())
        elif self.inequality == "mcallester" and self.m == 1:
            risk = 1.0
        else:
            complexity = COMPLEXITIES[self.inequality](self.nats, self.m, self.share)
            risk = bernoulli_kl_inverse(self.risk, max(complexity, 0.0))
        return min(vote_factor(self.predictor) * float(risk), 1.0)

    def trade_off(self) -> float:
        """Catoni's λ."""
        return float(catoni_fixed.trade_off(*self.validation, self.m, self.share))

    def level(self) -> float:
        """ℓ, such that the binomial tail is compared with e^−ℓ."""
        if self.predictor == "fixed":
            return math.log(1 / self.share) + self.code + self.ledger
        paid = draw_tail.nats(self.divergence + self.code)
        return math.log(1 / self.share) + self.ledger + float(paid)

    def _binomial_bound(self) -> float:
        if self.is_rate_of_costs:
            return bernoulli_kl_inverse(self.risk, self.level() / self.m)
        errors = round(self.risk * self.m)
        if errors >= self.m:
            return 1.0
        with precise():
            return float(binomial.limit(errors, self.m, exact(self.level())))


def factor(certificate: Certificate) -> float:
    """F, by which the ledger's certificates divide the Monte Carlo shares of δ."""
    counted = certificate.ledger.certificates
    return float(certificates_factor(counted.counted, counted.number, 1.0))


def risk_limit(claim: Claim, level: float, more: int = 1, by: str = "") -> float:
    """The upper limit of a sampled claim's risk at this level, with so many times the draws."""
    limit_by = by or claim.limit_by
    with precise():
        if claim.histogram is None or claim.scale is None or limit_by == "chernoff":
            return float(chernoff.limit(claim.mean, more * claim.trials, exact(level)))
        counts = [(value, more * times) for value, times in claim.histogram]
        return float(betting.limit(counts, claim.scale, exact(level)))


def sampled_kl(
    certificate: Certificate, level: float | None, more: int = 1, tail: str = ""
) -> float:
    """A Monte Carlo KL at this level, with so many times the samples; without a level its mean."""
    evidence, variances = certificate.evidence, certificate.prior.variances
    assert evidence is not None and evidence.samples is not None and variances is not None
    share = None if level is None else math.exp(-level) / len(variances)
    total, samples = 0.0, more * evidence.samples
    for group, place in zip(evidence.groups, variances, strict=True):
        moment = _moment(group, place.parameters, samples, share, tail or evidence.tail or "")
        total += gaussian_kl(moment, float(group.log_det), place.parameters, _variance(place))
    return total


def _moment(group: Group, d: int, samples: int, share: float | None, tail: str) -> float:
    """An upper limit of E‖W − Θ0‖², or the mean over the samples."""
    assert group.mean_square is not None
    assert group.lipschitz is not None and group.offset is not None
    square, slope, offset = map(float, (group.mean_square, group.lipschitz, group.offset))
    if share is None:
        return square
    if tail == "gaussian":
        return float(gaussian_tail.second_moment_limit(square, slope, samples, share))
    return float(theorem3.second_moment_limit(square, slope, d, offset, samples, share))


def _variance(place: Variance) -> float:
    return float(variance(place.index) if place.value is None else place.value)


def grid_cost(certificate: Certificate) -> float:
    """The part of the code that pays for prior variances, in nats."""
    indices = [place.index for place in certificate.prior.variances or () if place.index]
    return math.fsum(index_cost(index) for index in indices)
