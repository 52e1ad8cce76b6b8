"""McAllester's inequality relaxed by Pinsker's: a closed form, looser than the inverse.

D. McAllester, "PAC-Bayesian Stochastic Model Selection" (2003), Theorem 1; it follows from
`mcallester` by kl(q‖p) ≥ 2(p − q)².

Valid when: `mcallester` is.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from pacbound.bounds import mcallester
from pacbound.bounds.arithmetic import Real, sqrt
from pacbound.bounds.figures import rate_up
from pacbound.bounds.inequality import VOID, Given, Inequality, Part, Value
from pacbound.bounds.rounding import exact, precise

__all__ = ["PINSKER", "bound"]


def bound(risk: Real, nats: Real, m: Real, delta: Real) -> Real:
    """risk + √((nats + ln(m/δ)) / (2(m − 1)))."""
    return risk + sqrt(mcallester.complexity(nats, m, delta) / 2)


@dataclass(frozen=True, kw_only=True)
class _Pinsker(Inequality):
    def rate(self, given: Given) -> Decimal:
        if given.m == 1:
            return VOID
        with precise():
            nats, m, delta = exact(given.nats), exact(given.m), exact(given.delta)
            if mcallester.complexity(nats, m, delta) <= 0:
                return min(given.factor * Decimal(given.risk), VOID)
            return rate_up(given.factor * bound(exact(given.risk), nats, m, delta))

    def value(self, given: Given) -> float:
        raise NotImplementedError("it is for comparison only; no claim uses it")

    def terms(self, given: Given, parts: list[Part]) -> tuple[list[Part], Value]:
        raise NotImplementedError("it is for comparison only; no claim uses it")


PINSKER = _Pinsker(name="pinsker", title="Pinsker", possessive="Pinsker's", is_selectable=False)
