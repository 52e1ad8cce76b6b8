"""Bounds as people read them."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

__all__ = ["percent_up"]


def percent_up(part: float) -> str:
    """Per cent with two decimals, rounded up: a bound is never stated smaller than it is.

    Example:
        >>> percent_up(0.17171)
        '17.18'
    """
    return str((100 * Decimal(repr(part))).quantize(Decimal("0.01"), ROUND_CEILING))
