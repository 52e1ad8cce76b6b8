"""Round numbers along an axis."""

from __future__ import annotations

import math

__all__ = ["Axis", "axis"]

TINY = 1e-300  # a smaller range has no steps between its ends


class Axis:
    """A range of values, widened to round numbers, and the ticks between."""

    def __init__(self, low: float, step: float, steps: int) -> None:
        self.low, self.high = low, low + step * steps
        self.step = step
        self.ticks = tuple(low + step * i for i in range(steps + 1))

    def part(self, value: float) -> float:
        """The position of a value along the axis, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def label(self, value: float) -> str:
        """A tick label with as few digits as distinguish it from the next."""
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return f"{value:,.{decimals}f}".replace(",", "\N{THIN SPACE}")


def axis(low: float, high: float, most: int = 5) -> Axis:
    """The finest round steps (1, 2 or 5 times a power of ten), at most `most` of them.

    Example:
        >>> axis(0, 17.2).ticks
        (0.0, 5.0, 10.0, 15.0, 20.0)
    """
    spread = high - low if high > low else abs(high)
    if spread < TINY:
        spread = 1.0
    power = 10.0 ** math.floor(math.log10(spread / most))
    for factor in (1, 2, 5, 10, 20):
        step = power * factor
        first = math.floor(low / step + 1e-9)
        steps = max(math.ceil(high / step - 1e-9) - first, 1)
        if steps <= most:
            break
    return Axis(first * step, step, steps)
