"""The interface of an inequality: a claim's proved bound, the same in floats, and its terms."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from pacbound.bounds.arithmetic import Real
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse, kl_inverse_rate
from pacbound.bounds.rounding import exact, precise

__all__ = ["DRAW", "FIXED", "MEAN", "VOID", "Given", "Inequality", "KLForm", "Part", "Value"]

VOID = Decimal("1.0000000000")  # the vacuous bound

# Whose risk an inequality bounds.
MEAN = "the mean over all networks of a posterior"
DRAW = "one network that was drawn from a posterior"
FIXED = "a predictor that was fixed before the counted examples were seen"

Part: TypeAlias = tuple[str, float]  # a named part of the nats
Value: TypeAlias = Callable[[float], float]  # the bound as a function of the nats


@dataclass(frozen=True, kw_only=True)
class Given:
    """The inputs of a claim's bound: decimals for a proof, floats for a plot.

    Arguments:
        risk: The mean loss on the counted examples, or its upper limit if it was sampled.
        errors: The number of counted errors; None if the risk is not such a frequency.
        delta: The share of δ for the inequality.
        divergence: The KL of the networks that err together, or ln dq/dp of the draw, in nats.
        code, ledger: The costs of the prior and of the declared trials, in nats.
        validation: Errors and examples of a validation of the prior; both 0 without one.
        factor: The multiple of the networks' bound that is claimed: above 1 for a vote.
    """

    risk: Real
    errors: int | None = None
    m: int
    delta: Real
    divergence: Real
    code: Real
    ledger: Real
    validation: tuple[int, int] = (0, 0)
    factor: int = 1

    @property
    def nats(self) -> Real:
        """Divergence, code and ledger."""
        return self.divergence + self.code + self.ledger


@dataclass(frozen=True, kw_only=True)
class Inequality(ABC):
    """An inequality by its name. Its file has the formula, the theorem and its conditions.

    Arguments:
        title: The name on pages.
        possessive: The name in sentences: Maurer's.
        about: Whose risk it bounds: MEAN, DRAW or FIXED.
        needs_validation: Whether the prior must have been validated on examples not counted.
        is_selectable: Whether a claim can use it; otherwise it is shown for comparison.
        is_worth_trying: Whether it is suggested as an alternative.
    """

    name: str
    title: str
    possessive: str
    about: str = MEAN
    needs_validation: bool = False
    is_selectable: bool = True
    is_worth_trying: bool = False

    @abstractmethod
    def rate(self, given: Given) -> Decimal:
        """The bound, proved by interval arithmetic and rounded up."""

    @abstractmethod
    def value(self, given: Given) -> float:
        """The bound before the factor of a vote; in floats, not proved."""

    @abstractmethod
    def terms(self, given: Given, parts: list[Part]) -> tuple[list[Part], Value]:
        """The nats in the order of addition, and the bound as a function of them.

        Arguments:
            parts: The parts of divergence, code and ledger. The confidence is added to them.
        """


@dataclass(frozen=True, kw_only=True)
class KLForm(Inequality):
    """kl(risk‖bound) ≤ complexity(nats, m, δ).

    Arguments:
        scale: The divisor of the nats in the complexity.
        smallest_m: With fewer examples it is vacuous.
    """

    complexity: Callable[[Real, Real, Real], Real]
    scale: Callable[[int], int] = lambda m: m
    smallest_m: int = 1

    def rate(self, given: Given) -> Decimal:
        if given.m < self.smallest_m:
            return VOID
        with precise():
            complexity = self.complexity(exact(given.nats), exact(given.m), exact(given.delta))
            return kl_inverse_rate(Fraction(given.risk), complexity, given.factor)

    def value(self, given: Given) -> float:
        if given.m < self.smallest_m:
            return 1.0
        complexity = self.complexity(given.nats, given.m, given.delta)
        return bernoulli_kl_inverse(given.risk, max(complexity, 0.0))

    def terms(self, given: Given, parts: list[Part]) -> tuple[list[Part], Value]:
        risk, scale = float(given.risk), self.scale(given.m)
        paid, whole = sum(nats for _, nats in parts), math.inf
        if given.m >= self.smallest_m:
            whole = self.complexity(paid, given.m, given.delta) * scale

        def value(nats: float) -> float:
            return bernoulli_kl_inverse(risk, max(nats / scale, 0.0))

        return [*parts, ("confidence of the inequality", whole - paid)], value
