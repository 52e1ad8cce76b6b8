"""McAllester's inequality relaxed by Pinsker's: a closed form, looser than the inverse.

D. McAllester, "PAC-Bayesian Stochastic Model Selection" (2003), Theorem 1; it follows from
`mcallester` by kl(q‖p) ≥ 2(p − q)².

Valid when: `mcallester` is.
"""

from __future__ import annotations

from pacbound.bounds import mcallester
from pacbound.bounds.arithmetic import Real, sqrt

__all__ = ["bound"]


def bound(risk: Real, nats: Real, m: Real, delta: Real) -> Real:
    """risk + √((nats + ln(m/δ)) / (2(m − 1)))."""
    return risk + sqrt(mcallester.complexity(nats, m, delta) / 2)
