"""Bounds as people read them."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

__all__ = ["percent_up"]


def percent_up(part: float | Decimal) -> str:
    """Per cent, rounded up: a bound is never stated smaller than it is.

    Two decimals; six for less than 0.1 %, as in the sentence of a certificate.

    Example:
        >>> percent_up(0.17171), percent_up(0.00000035), percent_up(0.0)
        ('17.18', '0.000035', '0.00')
    """
    value = part if isinstance(part, Decimal) else Decimal(repr(part))
    unit = "0.000001" if 0 < value < Decimal("0.001") else "0.01"
    return f"{(100 * value).quantize(Decimal(unit), ROUND_CEILING):f}"
