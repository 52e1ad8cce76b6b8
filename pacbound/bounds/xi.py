"""Maurer's PAC-Bayes inequality with its exact constant ξ(m) instead of 2√m.

A. Maurer, "A Note on the PAC Bayesian Theorem" (2004): E exp(m·kl(R̂‖R)) ≤ ξ(m) for any fixed
predictor, ξ(m) = Σ_k C(m,k)(k/m)^k(1 − k/m)^(m−k). X(m) below is an upper bound of ξ(m), larger by
a factor of less than 1 + 1/(400m²): ξ(m) = 1 + Q(m) with Ramanujan's Q (P. Flajolet, P. Grabner,
P. Kirschenhofer and H. Prodinger 1995), and Robbins' bound of m!. SPEC.md has the proof.

Valid when: loss in [0, 1]; m ≥ 1 independent examples; prior fixed before the sample; every choice
made by looking at the sample is paid for in `nats`. The same constant serves the log-density ratio
of one draw (`density`): O. Rivasplata, I. Kuzborskij, C. Szepesvári and J. Shawe-Taylor (2020).
"""

from __future__ import annotations

from pacbound.bounds.arithmetic import Real, exp, log, pi, sqrt
from pacbound.bounds.inequality import KLForm

__all__ = ["XI", "complexity", "constant"]


def constant(m: Real) -> Real:
    """X(m) = 1 + ½ (√(2πm) · e^(1/(12m)) − 2/3 − 8/(135(m + 8/45)))."""
    root = sqrt(2 * pi(m) * m) * exp(1 / (12 * m))
    return 1 + (root - (m * 0 + 2) / 3 - 8 / (135 * m + 24)) / 2


def complexity(nats: Real, m: Real, delta: Real) -> Real:
    """(nats + ln(X(m)/δ)) / m, where nats is the KL plus every cost of a union bound."""
    return (nats + log(constant(m) / delta)) / m


XI = KLForm(
    name="xi",
    title="Maurer with ξ(m), kl inverse",
    possessive="Maurer's with the constant ξ(m)",
    is_worth_trying=True,
    complexity=complexity,
)
