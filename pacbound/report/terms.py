"""Where a bound comes from: what each term adds to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pacbound.bounds import maurer, mcallester
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.bounds.histogram import draws_and_mean
from pacbound.bounds.prior_grid import index_cost
from pacbound.certificate.checker import FACTORS
from pacbound.certificate.format import (
    Certificate,
    DrawnRatio,
    MonteCarloKL,
    PerExampleRisk,
    WholeSetRisk,
)

__all__ = ["Term", "empirical_risk", "terms"]


@dataclass(frozen=True)
class Term:
    """One step from the empirical risk to the bound."""

    name: str
    amount: str  # in its own unit
    adds: float  # to the bound, after the steps before it
    total: float  # the bound so far


def empirical_risk(certificate: Certificate) -> float:
    """The mean of the Monte Carlo draws of the risk, or the risk of the one network drawn."""
    risk = certificate.risk
    if isinstance(risk, WholeSetRisk):
        return risk.errors / certificate.data.m
    if isinstance(risk, PerExampleRisk):
        return risk.errors / risk.draws
    return float(draws_and_mean(risk.counts, risk.batch)[1])


def terms(certificate: Certificate) -> list[Term]:
    """The empirical risk, then what KL, union bound, confidence and Monte Carlo add.

    For one draw the log-density ratio stands for the KL, and there is no Monte Carlo.
    """
    m, prior = certificate.data.m, certificate.prior
    estimate = empirical_risk(certificate)
    tail = 0.0
    if isinstance(certificate.kl, MonteCarloKL):
        chosen = certificate.kl.tail
        tail = (
            certificate.kl.gaussian if chosen == "gaussian" else certificate.kl.theorem3
        ).correction
    formula = {"mcallester": mcallester, "maurer": maurer}[certificate.bound.inequality].complexity
    scale = m - 1 if certificate.bound.inequality == "mcallester" else m
    grid = sum(index_cost(entry.index) for entry in prior.variances if entry.index)
    choices = sum(index_cost(entry.index) for entry in prior.choices) + math.log(prior.trials)
    drawn = isinstance(certificate.kl, DrawnRatio)
    factor, networks = FACTORS[certificate.claim.predictor]
    name = "ln dq/dp of the draw" if drawn else "KL(q‖p)" if networks == 1 else "KL, of pairs"
    tail *= networks
    costs = {name: certificate.kl.upper * networks - tail}
    if tail:
        costs["Monte Carlo tail of the KL"] = tail
    costs |= {"prior variance grid": grid} if grid else {}
    costs["prior's other choices"] = choices
    paid = sum(costs.values())
    costs["confidence of the inequality"] = (
        formula(paid, m, certificate.budget.pac_bayes) * scale - paid
    )
    steps = [Term("empirical risk", f"{estimate:.2%}", estimate, estimate)]
    nats = 0.0
    for name, cost in costs.items():
        nats += cost
        total = bernoulli_kl_inverse(estimate, max(nats / scale, 0.0))
        steps.append(Term(name, f"{cost:.1f} nats", total - steps[-1].total, total))
    if drawn:
        return steps
    value = certificate.bound.value
    allowance = f"{certificate.risk.upper - estimate:.3%} of risk"
    steps.append(Term("Monte Carlo allowance", allowance, value - steps[-1].total, value))
    if factor > 1:
        claim = certificate.claim.risk_bound
        steps.append(Term("from networks to their vote", f"times {factor}", claim - value, claim))
    return steps
