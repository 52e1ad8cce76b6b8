"""Settings and numbers as the page shows them."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

__all__ = ["compact", "duration", "grouped", "percent"]


def compact(value: Any) -> str:
    """A setting on one line."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "nested too deep to be shown"


def percent(part: float, decimals: int = 2) -> str:
    """An estimate, rounded to the nearest; bounds have `report.percent.percent_up`."""
    return f"{100 * part:.{decimals}f}"


def grouped(number: float) -> Markup:
    """With thin spaces between thousands: 60 000; small figures that are no counts have a decimal.

    Example:
        >>> print(grouped(60000).replace("\\N{THIN SPACE}", "_"))
        60_000
    """
    decimals = 0 if isinstance(number, int) or abs(number) >= 100 else 1
    return Markup(f"{number:,.{decimals}f}".replace(",", "\N{THIN SPACE}").replace("-", "−"))


def duration(seconds: float) -> str:
    """As somebody would say it.

    Example:
        >>> duration(1100.3), duration(18), duration(9000)
        ('18 min', '18 s', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
