"""The level of the binomial limit of one network that was drawn from a posterior.

Let D = dq/dp at the drawn network, B the binomial tail of its errors, and f a falling function with
integral at most 1. Then B > δ·f(D) with probability at least 1 − δ over the sample and the draw:
the event has the probability E_S E_{h∼p}[D·1{B ≤ δf(D)}], and whatever D is, this is at most
E f⁻¹(B/δ) ≤ δ∫f, because B is super-uniform for every fixed h (SPEC.md, section 11, theorem 4).
So the risk is at most the Clopper–Pearson limit at level δ·f(D), f(D) = 1/((D + e) ln²(D + e)).

Valid when: the draw was made once with a seed fixed beforehand; prior fixed before the sample up to
a code that is part of ln D. Costs in [0, 1] take Chernoff's limit at the same level.
"""

from __future__ import annotations

from pacbound.bounds.arithmetic import Real, exp, log, log1p

__all__ = ["nats"]


def nats(log_ratio: Real) -> Real:
    """ln(1/f(D)) = A + 2 ln A, A = ln(e^x + e), at x = ln D."""
    x = log_ratio
    larger = x + log1p(exp(1 - x)) if x > 1 else 1 + log1p(exp(x - 1))
    return larger + 2 * log(larger)
