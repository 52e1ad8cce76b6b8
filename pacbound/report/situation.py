"""The figures that a certificate's bound is computed from, to be changed one at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pacbound.bounds import betting, chernoff, gaussian_tail, maurer, mcallester, theorem3
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.prior_grid import index_cost
from pacbound.certificate.checker import FACTORS
from pacbound.certificate.format import (
    Certificate,
    MonteCarloKL,
    PerExampleRisk,
    PerWeightsRisk,
    Variance,
)

__all__ = ["Situation", "kl_limit", "risk_limit"]

INEQUALITIES = {"mcallester": mcallester.complexity, "maurer": maurer.complexity}
LIMITS = {"betting": betting.risk_limit, "chernoff": chernoff.mean_limit}


@dataclass(frozen=True)
class Situation:
    """Risk, KL and what else a bound follows from."""

    predictor: str
    risk: float  # the upper limit
    kl: float  # of one network, or the log-density ratio of the draw
    union: float  # nats for every choice and trial
    m: int
    share: float  # of δ, for the inequality
    inequality: str

    @classmethod
    def of(cls, certificate: Certificate) -> Situation:
        """The figures of a certificate."""
        prior = certificate.prior
        indices = [place.index for place in prior.variances if place.index]
        indices += [choice.index for choice in prior.choices]
        return cls(
            predictor=certificate.claim.predictor,
            risk=certificate.risk.upper,
            kl=certificate.kl.upper,
            union=math.fsum(map(index_cost, indices)) + math.log(prior.trials),
            m=certificate.data.m,
            share=certificate.budget.pac_bayes,
            inequality=certificate.bound.inequality,
        )

    def bound(self) -> float:
        """What these figures imply of the predictor's risk."""
        factor, networks = FACTORS[self.predictor]
        nats = self.kl * networks + self.union
        complexity = INEQUALITIES[self.inequality](nats, self.m, self.share)
        return min(factor * bernoulli_kl_inverse(self.risk, max(complexity, 0.0)), 1.0)


def risk_limit(risk: PerExampleRisk | PerWeightsRisk, share: float, more: int = 1) -> float:
    """The upper limit of the risk with so many times the draws and with this share of δ."""
    if isinstance(risk, PerExampleRisk):
        return chernoff.risk_limit(more * risk.errors, more * risk.draws, share)
    counts = [(errors, more * times) for errors, times in risk.counts]
    return LIMITS[risk.limit](counts, risk.batch, share)


def kl_limit(
    kl: MonteCarloKL, variances: tuple[Variance, ...], share: float, more: int = 1
) -> float:
    """The same of a sampled KL, by its own tail and at the same prior variances."""
    total, samples, share = 0.0, more * kl.samples, share / len(variances)
    for group, place in zip(kl.groups, variances, strict=True):
        square, slope, d = group.mean_square, group.lipschitz, place.parameters
        if kl.tail == "gaussian":
            moment = gaussian_tail.second_moment_limit(square, slope, samples, share)
        else:
            moment = theorem3.second_moment_limit(square, slope, d, group.offset, samples, share)
        total += gaussian_kl(moment, group.log_det, d, place.value)
    return total
