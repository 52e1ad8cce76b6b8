"""Maurer's PAC-Bayes inequality: McAllester's with a smaller logarithm.

A. Maurer, "A Note on the PAC Bayesian Theorem" (2004), Theorem 5: with probability at least
1 − δ, for all posteriors at once, kl(L̂‖L) ≤ complexity.

Valid when: loss in [0, 1]; m ≥ 8 independent examples; prior fixed before the sample; every choice
made by looking at the sample is paid for in `nats`.
"""

from __future__ import annotations

from pacbound.bounds.arithmetic import Real, log, sqrt
from pacbound.bounds.inequality import KLForm

__all__ = ["MAURER", "SMALLEST_M", "complexity"]

SMALLEST_M = 8


def complexity(nats: Real, m: Real, delta: Real) -> Real:
    """(nats + ln(2√m/δ)) / m, where nats is the KL plus every cost of a union bound."""
    return (nats + log(2 * sqrt(m) / delta)) / m


MAURER = KLForm(
    name="maurer", title="Maurer, kl inverse", possessive="Maurer's", complexity=complexity
)
