"""Figures as a certificate shows them: decimals with fixed places, rounded up (SPEC.md).

A rate has 10 decimals and an amount of nats has 6. A limit is the smallest rate for which interval
arithmetic proves its defining inequality. It exceeds the exact limit by less than two units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from pacbound.bounds.rounding import exact

__all__ = ["decimal_down", "decimal_up", "mean_rate", "nats_up", "rate_up", "smallest_rate"]

RATE_UNITS = 10**10  # units in 1
NATS_UNITS = 10**6
DIGITS = 17  # significant digits of a primitive, such as a trace
LAST_PLACE = Decimal("1e-30")


def nats_up(amount: Any) -> Decimal:
    """The smallest decimal with 6 places proved not to be below an interval."""
    return Decimal(_units_above(amount, NATS_UNITS)).scaleb(-6)


def rate_up(value: Any) -> Decimal:
    """The smallest decimal with 10 places proved not to be below an interval; at most 1."""
    if not value <= 1:
        return Decimal(RATE_UNITS).scaleb(-10)
    return Decimal(_units_above(value, RATE_UNITS)).scaleb(-10)


def mean_rate(mean: Fraction) -> Decimal:
    """A mean in [0, 1], rounded up exactly."""
    return Decimal(math.ceil(mean * RATE_UNITS)).scaleb(-10)


def smallest_rate(proved: Callable[[Fraction], bool], guess: float) -> Decimal:
    """The smallest rate for which `proved` holds; 1 is taken as proved.

    `proved` must be monotone. The search doubles its distance from the guess, then bisects. A bad
    guess costs time but not soundness.
    """

    def holds(units: int) -> bool:
        return units >= RATE_UNITS or proved(Fraction(units, RATE_UNITS))

    at = min(max(math.ceil(guess * RATE_UNITS), 0), RATE_UNITS)
    step = 1
    if holds(at):
        fails, least = at - step, at
        while fails >= 0 and holds(fails):
            step *= 2
            fails, least = fails - step, fails
        fails = max(fails, -1)
    else:
        fails, least = at, at + step
        while not holds(least):
            step *= 2
            fails, least = least, least + step
        least = min(least, RATE_UNITS)
    while least - fails > 1:
        middle = (fails + least) // 2
        if holds(middle):
            least = middle
        else:
            fails = middle
    return Decimal(least).scaleb(-10)


def decimal_up(x: float) -> Decimal:
    """A decimal of the format not below a float."""
    return _decimal(x, ROUND_CEILING)


def decimal_down(x: float) -> Decimal:
    """A decimal of the format not above a float."""
    return _decimal(x, ROUND_FLOOR)


def _decimal(x: float, rounding: str) -> Decimal:
    rounded = Context(prec=DIGITS, rounding=rounding).create_decimal_from_float(x)
    exponent = rounded.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -30:
        rounded = rounded.quantize(LAST_PLACE, rounding=rounding)
    return abs(rounded) if rounded == 0 else rounded


def _units_above(amount: Any, units: int) -> int:
    scaled = amount * units
    if not scaled.is_finite():
        raise ArithmeticError(f"{amount} has no decimal above it")
    near = int(scaled.upper().ceil().unique_fmpz() or 0)
    while not exact(near) >= scaled:
        near += 1
    while exact(near - 1) >= scaled:
        near -= 1
    return near
