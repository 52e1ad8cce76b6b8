"""The level of the binomial limit for one network drawn from a posterior.

Let D = dq/dp at the drawn network, B the binomial tail of its errors, and f a decreasing function
with integral at most 1. Then B > δ·f(D) with probability at least 1 − δ over the sample and the
draw. The complement has the probability E_S E_{h∼p}[D·1{B ≤ δf(D)}]. Whatever D is, this is at most
E f⁻¹(B/δ) ≤ δ∫f, because B is super-uniform for every fixed h (SPEC.md, section 11, theorem 4).
So the risk is at most the Clopper–Pearson limit at level δ·f(D), f(D) = 1/((D + e) ln²(D + e)).

Valid when: the draw was made once with a seed fixed beforehand; prior fixed before the sample up to
a code that is part of ln D. Costs in [0, 1] use Chernoff's limit at the same level.
"""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.bounds.arithmetic import Real, exp, log, log1p
from pacbound.bounds.binomial import LimitForm
from pacbound.bounds.inequality import DRAW, Given, Part, Value

__all__ = ["BINOMIAL_DRAW", "nats"]


def nats(log_ratio: Real) -> Real:
    """ln(1/f(D)) = A + 2 ln A, A = ln(e^x + e), at x = ln D."""
    x = log_ratio
    larger = x + log1p(exp(1 - x)) if x > 1 else 1 + log1p(exp(x - 1))
    return larger + 2 * log(larger)


@dataclass(frozen=True, kw_only=True)
class _Drawn(LimitForm):
    def cost(self, priced: Real, ledger: Real) -> Real:
        return ledger + nats(priced)

    def terms(self, given: Given, parts: list[Part]) -> tuple[list[Part], Value]:
        # f(D) is not linear in its nats: first the cost of D = 1, then the rest.
        at_one, whole = nats(0.0), nats(given.divergence + given.code)
        own = [
            ("one draw from a posterior", at_one),
            ("ln dq/dp of the draw, and code", whole - at_one),
            ("ledger", given.ledger),
        ]
        return super().terms(given, [part for part in own if part[1]])


BINOMIAL_DRAW = _Drawn(
    name="binomial",
    title="binomial tail of a draw",
    possessive="the binomial tail of a draw",
    about=DRAW,
    is_worth_trying=True,
)
