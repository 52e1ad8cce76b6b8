"""Upper confidence limit of the error rate of a predictor fixed before the examples.

C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case
of the Binomial" (1934); J. Langford, "Tutorial on Practical Prediction Theory for Classification"
(2005), Theorem 3.3: with probability at least 1 − δ the error rate is at most the largest p with
P(Bin(n, p) ≤ errors) ≥ δ.

Valid when: the n examples are independent of everything that made the predictor, and each is
evaluated once.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from flint import arb

from pacbound.bounds.arithmetic import Real, log
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse, kl_inverse_rate
from pacbound.bounds.chernoff import risk_limit
from pacbound.bounds.figures import smallest_rate
from pacbound.bounds.inequality import FIXED, Given, Inequality, Part, Value
from pacbound.bounds.rounding import exact, lowest, precise, smallest_float

__all__ = ["BINOMIAL_FIXED", "LimitForm", "distribution", "limit", "upper_limit"]


def distribution(errors: int, n: int, p: Any) -> Any:
    """An interval around P(Bin(n, p) ≤ errors), for an interval p inside (0, 1).

    The terms are summed from the largest count down, until a geometric series bounds the rest.
    """
    odds = (1 - p) / p
    term = arb.bin_uiui(n, errors) * p**errors * (1 - p) ** (n - errors)
    total = term
    for count in range(errors, 0, -1):
        ratio = count * odds / (n - count + 1)  # decreasing in the count
        if ratio < 1:
            rest = term * ratio / (1 - ratio)
            if rest < total * 1e-40:
                return total.union(total + rest)
        term *= ratio
        total += term
    return total


def limit(errors: int, n: int, level: Real) -> Decimal:
    """The smallest rate p proved to have ln P(Bin(n, p) ≤ errors) ≤ −level; in `precise`.

    Arguments:
        level: ln(1/δ) as an interval, above ln 2, so that the limit is above errors/n.
    """
    mean = Fraction(errors, n)

    def proved(p: Fraction) -> bool:
        return p > mean and bool(distribution(errors, n, exact(p)).log() <= -level)

    return smallest_rate(proved, _approximate(errors, n, float(level.upper())))


def _approximate(errors: int, n: int, level: float) -> float:
    """The limit as a quantile of a beta distribution, not proved; Chernoff's if there is none.

    It saves most of the proofs in a search that would start at Chernoff's limit, which is above it.
    """
    from scipy.special import betainccinv

    quantile = float(betainccinv(errors + 1, n - errors, math.exp(-level)))
    if 0 < quantile < 1:
        return quantile
    return bernoulli_kl_inverse(errors / n, level / n)


def upper_limit(errors: int, n: int, delta: float | Decimal) -> float:
    """The smallest float p proved to have P(Bin(n, p) ≤ errors) ≤ δ."""
    if not (0 <= errors <= n and n > 0 and 0 < delta < 1):
        raise ValueError(f"need 0 ≤ errors ≤ n and 0 < δ < 1, got {errors} of {n} with δ = {delta}")
    if errors == n:
        return 1.0
    with precise():
        share = lowest(delta)

        def proved(p: float) -> bool:
            return p > 0 and bool(distribution(errors, n, lowest(p)) <= share)

        return smallest_float(proved, guess=risk_limit(errors, n, delta), low=0.0)


@dataclass(frozen=True, kw_only=True)
class LimitForm(Inequality):
    """The binomial limit of counted errors at a level in nats; Chernoff's limit for costs."""

    @abstractmethod
    def cost(self, priced: Real, ledger: Real) -> Real:
        """The level's excess over ln(1/δ): from divergence and code together, and the ledger."""

    def rate(self, given: Given) -> Decimal:
        with precise():
            priced, ledger = exact(given.divergence + given.code), exact(given.ledger)
            return self._limit(given, log(1 / exact(given.delta)) + self.cost(priced, ledger))

    def value(self, given: Given) -> float:
        cost = self.cost(given.divergence + given.code, given.ledger)
        level = math.log(1 / given.delta) + float(cost)
        if given.errors is None:
            return bernoulli_kl_inverse(given.risk, level / given.m)
        if given.errors >= given.m:
            return 1.0
        with precise():
            return float(limit(given.errors, given.m, exact(level)))

    def terms(self, given: Given, parts: list[Part]) -> tuple[list[Part], Value]:
        def value(nats: float) -> float:
            with precise():
                return float(self._limit(given, exact(nats)))

        return [("confidence of the limit", math.log(1 / given.delta)), *parts], value

    def _limit(self, given: Given, level: Real) -> Decimal:
        if given.errors is not None:
            return limit(given.errors, given.m, level)
        return kl_inverse_rate(Fraction(given.risk), level / given.m)


@dataclass(frozen=True, kw_only=True)
class _Fixed(LimitForm):
    def cost(self, priced: Real, ledger: Real) -> Real:
        return priced + ledger


BINOMIAL_FIXED = _Fixed(
    name="binomial",
    title="binomial limit of a fixed predictor (Clopper–Pearson)",
    possessive="the binomial limit of a fixed predictor",
    about=FIXED,
)
