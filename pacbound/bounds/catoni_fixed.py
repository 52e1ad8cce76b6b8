"""Catoni's PAC-Bayes inequality with a trade-off λ that was fixed before the counted examples.

O. Catoni, "PAC-Bayesian Supervised Classification" (2007), Theorem 1.2.6: with probability at least
1 − δ, for all posteriors at once, R ≤ (1 − exp(−λR̂ − (KL + ln(1/δ))/m)) / (1 − e^(−λ)).

λ follows from the errors of the prior's centre on a validation part that is not counted, from m and
from δ. It is what would be best at that risk and 3 nats; a wrong guess costs little.

Valid when: loss in [0, 1]; m independent examples; prior and validation part fixed before them.
"""

from __future__ import annotations

from pacbound.bounds.arithmetic import Real, exp, log, sqrt

__all__ = ["bound", "trade_off"]


def trade_off(errors: Real, examples: Real, m: Real, delta: Real) -> Real:
    """λ = ln(p₀(1 − q₀)/(q₀(1 − p₀))) from the validation's errors among its examples."""
    q = (2 * errors + 1) / (2 * examples + 2)
    c = (3 + log(1 / delta)) / m
    largest = (1 + q) / 2
    p = q + sqrt(2 * q * c) + c
    # An interval that does not tell which is smaller is replaced by one that holds both.
    p = p if p <= largest else largest if p >= largest else p.union(largest)
    return log(p * (1 - q) / (q * (1 - p)))


def bound(risk: Real, nats: Real, m: Real, delta: Real, lambda_: Real) -> Real:
    """(1 − exp(−λ·risk − (nats + ln(1/δ))/m)) / (1 − e^(−λ))."""
    return (1 - exp(-lambda_ * risk - (nats + log(1 / delta)) / m)) / (1 - exp(-lambda_))
