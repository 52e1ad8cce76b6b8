"""The figures behind a claim's bound, to be changed one at a time.

They are floats for plots, tables and suggestions. They do not prove anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pacbound.bounds import chernoff
from pacbound.bounds.codes import certificates_factor
from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.inequality import Given
from pacbound.bounds.limits import LIMITS
from pacbound.bounds.prior_grid import variance
from pacbound.bounds.rounding import exact, precise
from pacbound.bounds.tails import TAILS
from pacbound.certificate.format import Certificate, Claim, Group, Variance
from pacbound.predictors import Predictor, predictor_of

__all__ = ["Situation", "factor", "risk_limit", "sampled_kl"]


@dataclass(frozen=True)
class Situation:
    """One claim: an observed rate, nats, and the other inputs of its bound."""

    predictor: Predictor
    inequality: str
    is_rate_of_costs: bool  # and not of counted errors or abstentions
    risk: float  # the upper limit, or the rate of a counted predictor
    m: int
    share: float  # the share of δ for the inequality
    divergence: float  # the KL of one network, or the log-density ratio of the draw
    code: float  # nats
    ledger: float  # nats
    validation: tuple[int, int] = (0, 0)  # errors among examples, for Catoni's trade-off

    @classmethod
    def of(cls, certificate: Certificate, claim: Claim) -> Situation:
        """The figures of a claim."""
        evidence, validation = certificate.evidence, certificate.prior.validation
        return cls(
            predictor=predictor_of(certificate),
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

    def bound(self) -> float:
        """The bound that these figures imply."""
        errors = None if self.is_rate_of_costs else round(self.risk * self.m)
        given = Given(
            risk=self.risk,
            errors=errors,
            m=self.m,
            delta=self.share,
            divergence=self.predictor.networks * self.divergence,
            code=self.code,
            ledger=self.ledger,
            validation=self.validation,
        )
        value = self.predictor.inequalities[self.inequality].value(given)
        return min(self.predictor.factor * value, 1.0)


def factor(certificate: Certificate) -> float:
    """F, the factor by which the ledger's certificates divide the Monte Carlo shares of δ."""
    counted = certificate.ledger.certificates
    return float(certificates_factor(counted.counted, counted.number, 1.0))


def risk_limit(claim: Claim, level: float, more: int = 1, by: str = "") -> float:
    """The upper limit of a sampled claim's risk at this level, with `more` times the draws."""
    limit_by = by or claim.limit_by
    with precise():
        if claim.histogram is None or claim.scale is None or limit_by is None:
            return float(chernoff.limit(claim.mean, more * claim.trials, exact(level)))
        counts = [(value, more * times) for value, times in claim.histogram]
        return float(LIMITS[limit_by](counts, claim.scale, exact(level)))


def sampled_kl(
    certificate: Certificate, level: float | None, more: int = 1, tail: str = ""
) -> float:
    """A Monte Carlo KL at this level, with `more` times the samples; without a level, its mean."""
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
    return float(TAILS[tail](square, slope, d, offset, samples, share))


def _variance(place: Variance) -> float:
    return float(variance(place.index) if place.value is None else place.value)
