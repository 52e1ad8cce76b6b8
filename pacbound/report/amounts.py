"""Percentages and durations for people to read."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

__all__ = ["duration", "percent", "percent_up"]


def percent_up(part: float | Decimal, decimals: int = 2) -> str:
    """Per cent, rounded up: a bound is never shown smaller than it is.

    Two decimals by default; six for less than 0.1 %, as in the sentence of a certificate.

    Example:
        >>> percent_up(0.17171), percent_up(0.00000035), percent_up(0.0)
        ('17.18', '0.000035', '0.00')
    """
    value = part if isinstance(part, Decimal) else Decimal(repr(part))
    places = 6 if 0 < value < Decimal("0.001") else decimals
    return f"{(100 * value).quantize(Decimal(1).scaleb(-places), ROUND_CEILING):f}"


def percent(part: float, decimals: int = 2) -> str:
    """Per cent of an estimate, rounded to the nearest.

    Example:
        >>> percent(0.17171)
        '17.17'
    """
    return f"{100 * part:.{decimals}f}"


def duration(seconds: float | None) -> str:
    """A duration in words.

    Example:
        >>> duration(18), duration(1100.3), duration(4000)
        ('18 s', '18 min', '1 h 07 min')
    """
    if seconds is None:
        return "unknown time"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
