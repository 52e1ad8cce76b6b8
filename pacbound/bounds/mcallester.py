"""McAllester's PAC-Bayes inequality in Bernoulli-KL form: the one used by the source paper.

D. McAllester, "Some PAC-Bayesian Theorems" (1999), tightened by J. Langford and M. Seeger, "Bounds
for Averaging Classifiers" (2001); as stated in G. K. Dziugaite and D. M. Roy, "Computing
Nonvacuous Generalization Bounds for Deep (Stochastic) Neural Networks" (2017), Theorem 2.1:
with probability at least 1 − δ, for all posteriors at once, kl(L̂‖L) ≤ complexity.

Valid when: loss in [0, 1]; m ≥ 2 independent examples; prior fixed before the sample; every choice
made by looking at the sample is paid for in `nats`.
"""

from __future__ import annotations

from pacbound.bounds.arithmetic import Real, log
from pacbound.bounds.inequality import KLForm

__all__ = ["MCALLESTER", "complexity"]


def complexity(nats: Real, m: Real, delta: Real) -> Real:
    """(nats + ln(m/δ)) / (m − 1), where nats is the KL plus every cost of a union bound."""
    return (nats + log(m / delta)) / (m - 1)


MCALLESTER = KLForm(
    name="mcallester",
    title="McAllester, kl inverse",
    possessive="McAllester's",
    complexity=complexity,
    scale=lambda m: max(m - 1, 1),
    smallest_m=2,
)
