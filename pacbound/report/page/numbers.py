"""Settings and numbers as the page shows them."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

__all__ = ["compact", "grouped"]


def compact(value: Any) -> str:
    """A setting on one line."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "nested too deep to be shown"


def grouped(number: float) -> Markup:
    """Thin spaces between thousands: 60 000; small figures that are not counts have a decimal.

    Example:
        >>> print(grouped(60000).replace("\\N{THIN SPACE}", "_"))
        60_000
    """
    decimals = 0 if isinstance(number, int) or abs(number) >= 100 else 1
    return Markup(f"{number:,.{decimals}f}".replace(",", "\N{THIN SPACE}").replace("-", "−"))
