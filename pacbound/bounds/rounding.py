"""Convert numbers to intervals, and intervals to floats on the safe side.

A certificate is read as decimals. The shortest decimal that represents a float can lie on either
side of it. So every statement about a float is proved for both readings: the float itself and the
decimal that it prints as.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

__all__ = [
    "PRECISION",
    "exact",
    "highest",
    "lowest",
    "precise",
    "round_down",
    "round_up",
    "smallest_float",
]

# Bits of an interval's midpoint. kl(q‖p) of two neighbouring floats cancels 106 bits.
PRECISION = 256


def precise() -> AbstractContextManager[Any]:
    """The context in which intervals have PRECISION bits instead of 53."""
    manager: AbstractContextManager[Any] = ctx.workprec(PRECISION)
    return manager


def exact(number: float | int | Decimal | Fraction | str) -> Any:
    """The interval of a number at its exact value; a string is read as a decimal."""
    if isinstance(number, float | int):
        return arb(number)
    fraction = Fraction(number)
    return arb(fmpq(fraction.numerator, fraction.denominator))


def highest(x: float | Decimal) -> Any:
    """The larger of the two readings of a finite float, as an interval; a Decimal has one."""
    printed = x if isinstance(x, Decimal) else repr(float(x))
    return exact(max(Fraction(x), Fraction(printed)))


def lowest(x: float | Decimal) -> Any:
    """The smaller of the two readings of a finite float, as an interval; a Decimal has one."""
    return -highest(-x)


def round_up(interval: Any) -> float:
    """A float, close to the smallest, that is not below the interval in either reading."""
    if interval.is_nan():
        return math.inf
    near = float(interval.upper())
    while math.isfinite(near) and not lowest(near) >= interval:
        near = math.nextafter(near, math.inf)
    return near


def round_down(interval: Any) -> float:
    """A float, close to the largest, that is not above the interval in either reading."""
    return -round_up(-interval)


def smallest_float(proved: Callable[[float], bool], guess: float, low: float) -> float:
    """The smallest float in [low, 1] for which `proved` holds; 1.0 is taken as proved.

    `proved` must be monotone. The search doubles its distance from `guess`, then bisects, over the
    floats as integers. A good guess takes a few evaluations; a bad one does not affect soundness.
    """
    first, last = _position(low), _position(1.0)
    at = min(max(_position(guess), first), last)
    step = 1
    if at == last or proved(_float(at)):
        fails, holds = at - step, at
        while fails >= first and proved(_float(fails)):
            step *= 2
            fails, holds = fails - step, fails
        fails = max(fails, first - 1)
    else:
        fails, holds = at, at + step
        while holds < last and not proved(_float(holds)):
            step *= 2
            fails, holds = holds, holds + step
        holds = min(holds, last)
    while holds - fails > 1:
        middle = (fails + holds) // 2
        if proved(_float(middle)):
            holds = middle
        else:
            fails = middle
    return _float(holds)


def _position(x: float) -> int:
    """The rank of a non-negative float among all of them."""
    place: int = struct.unpack("<q", struct.pack("<d", x))[0]
    return place


def _float(position: int) -> float:
    x: float = struct.unpack("<d", struct.pack("<q", position))[0]
    return x
