"""Maurer's inequality relaxed by the refined Pinsker inequality: a closed form for small risks.

M. Pérez-Ortiz, O. Rivasplata, J. Shawe-Taylor and C. Szepesvári, "Tighter Risk Certificates for
Neural Networks" (2021), the PAC-Bayes-quadratic bound; it follows from `maurer` by
kl(q‖p) ≥ (p − q)²/(2p) for q < p.

Valid when: `maurer` is.
"""

from __future__ import annotations

from pacbound.bounds import maurer
from pacbound.bounds.arithmetic import Real, sqrt

__all__ = ["bound"]


def bound(risk: Real, nats: Real, m: Real, delta: Real) -> Real:
    """(√(risk + r) + √r)², r = (nats + ln(2√m/δ)) / (2m)."""
    r = maurer.complexity(nats, m, delta) / 2
    return (sqrt(risk + r) + sqrt(r)) ** 2
