"""Where a bound comes from: what each term adds to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pacbound.bounds import maurer, mcallester
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.bounds.prior_grid import index_cost
from pacbound.certificate.format import Certificate

__all__ = ["Term", "terms"]


@dataclass(frozen=True)
class Term:
    """One step from the empirical risk to the bound."""

    name: str
    amount: str  # in its own unit
    adds: float  # to the bound, after the steps before it
    total: float  # the bound so far


def terms(certificate: Certificate) -> list[Term]:
    """The empirical risk, then what KL, union bound, confidence and Monte Carlo add."""
    m = certificate.data.m
    estimate = certificate.risk.errors / certificate.risk.draws
    kl = certificate.kl.upper
    prior = certificate.prior
    grid = sum(index_cost(entry.index) for entry in prior.variances)
    choices = sum(index_cost(entry.index) for entry in prior.choices) + math.log(prior.trials)
    formula = {"mcallester": mcallester, "maurer": maurer}[certificate.bound.inequality].complexity
    scale = m - 1 if certificate.bound.inequality == "mcallester" else m
    delta = float(certificate.budget.pac_bayes)

    def inverse(risk: float, complexity: float) -> float:
        return bernoulli_kl_inverse(risk, max(complexity, 0.0))

    steps = [
        ("empirical risk", f"{estimate:.2%}", estimate),
        ("KL(q‖p)", f"{kl:.1f} nats", inverse(estimate, kl / scale)),
        ("prior variance grid", f"{grid:.1f} nats", inverse(estimate, (kl + grid) / scale)),
        (
            "prior's other choices",
            f"{choices:.1f} nats",
            inverse(estimate, (kl + grid + choices) / scale),
        ),
        (
            "confidence of the inequality",
            f"{formula(kl + grid + choices, m, delta) * scale - kl - grid - choices:.1f} nats",
            inverse(estimate, formula(kl + grid + choices, m, delta)),
        ),
        (
            "Monte Carlo allowance",
            f"{certificate.risk.upper - estimate:.3%} of risk",
            float(certificate.bound.value),
        ),
    ]
    totals = [total for _, _, total in steps]
    return [
        Term(name, amount, total - before, total)
        for (name, amount, total), before in zip(steps, [0.0, *totals[:-1]], strict=True)
    ]
