"""Catoni's PAC-Bayes inequality with a trade-off λ fixed before the counted examples.

O. Catoni, "PAC-Bayesian Supervised Classification" (2007), Theorem 1.2.6: with probability at least
1 − δ, for all posteriors at once, R ≤ (1 − exp(−λR̂ − (KL + ln(1/δ))/m)) / (1 − e^(−λ)).

λ follows from m, δ and the errors of the prior's centre on a validation part that is not counted.
It is the best value for that risk and 3 nats. A wrong guess costs little.

Valid when: loss in [0, 1]; m independent examples; prior and validation part fixed before them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from pacbound.bounds.arithmetic import Real, exp, log, sqrt
from pacbound.bounds.figures import rate_up
from pacbound.bounds.inequality import Given, Inequality, Part, Value
from pacbound.bounds.rounding import exact, precise

__all__ = ["CATONI", "bound", "trade_off"]


def trade_off(errors: Real, examples: Real, m: Real, delta: Real) -> Real:
    """λ = ln(p₀(1 − q₀)/(q₀(1 − p₀))) from the errors and examples of the validation."""
    q = (2 * errors + 1) / (2 * examples + 2)
    c = (3 + log(1 / delta)) / m
    largest = (1 + q) / 2
    p = q + sqrt(2 * q * c) + c
    # If an interval does not decide which is smaller, it is replaced by one that contains both.
    p = p if p <= largest else largest if p >= largest else p.union(largest)
    return log(p * (1 - q) / (q * (1 - p)))


def bound(risk: Real, nats: Real, m: Real, delta: Real, lambda_: Real) -> Real:
    """(1 − exp(−λ·risk − (nats + ln(1/δ))/m)) / (1 − e^(−λ))."""
    return (1 - exp(-lambda_ * risk - (nats + log(1 / delta)) / m)) / (1 - exp(-lambda_))


@dataclass(frozen=True, kw_only=True)
class _Catoni(Inequality):
    def rate(self, given: Given) -> Decimal:
        with precise():
            m, delta = exact(given.m), exact(given.delta)
            errors, examples = map(exact, given.validation)
            lambda_ = trade_off(errors, examples, m, delta)
            value = bound(exact(given.risk), exact(given.nats), m, delta, lambda_)
            return rate_up(given.factor * value)

    def value(self, given: Given) -> float:
        lambda_ = trade_off(*given.validation, given.m, given.delta)
        return float(bound(given.risk, given.nats, given.m, given.delta, lambda_))

    def terms(self, given: Given, parts: list[Part]) -> tuple[list[Part], Value]:
        risk, lambda_ = float(given.risk), trade_off(*given.validation, given.m, given.delta)

        def value(nats: float) -> float:
            return min(float(bound(risk, nats, given.m, 1.0, lambda_)), 1.0)

        # Even at zero nats the bound is above the risk, because λ was fixed beforehand.
        fixed = ("Catoni's trade-off, fixed beforehand", 0.0)
        confidence = ("confidence of the inequality", math.log(1 / given.delta))
        return [fixed, *parts, confidence], value


CATONI = _Catoni(
    name="catoni",
    title="Catoni, λ fixed beforehand",
    possessive="Catoni's",
    needs_validation=True,
    is_worth_trying=True,
)
