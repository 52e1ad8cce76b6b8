"""The inequalities by name. A new inequality is one new file and one line here.

SPEC.md lists those that checkers know. Checkers refuse certificates with any other.
"""

from __future__ import annotations

from pacbound.bounds.binomial import BINOMIAL_FIXED
from pacbound.bounds.catoni_fixed import CATONI
from pacbound.bounds.density_ratio import DENSITY
from pacbound.bounds.draw_tail import BINOMIAL_DRAW
from pacbound.bounds.inequality import Inequality
from pacbound.bounds.maurer import MAURER
from pacbound.bounds.mcallester import MCALLESTER
from pacbound.bounds.pinsker import PINSKER
from pacbound.bounds.xi import XI

__all__ = ["INEQUALITIES", "inequalities", "register"]

INEQUALITIES: dict[tuple[str, str], Inequality] = {}  # by (whose risk they bound, name)


def register(inequality: Inequality) -> None:
    """Register an inequality by its name and whose risk it bounds."""
    INEQUALITIES[inequality.about, inequality.name] = inequality


def inequalities(about: str) -> dict[str, Inequality]:
    """The inequalities that bound this risk, by name."""
    return {name: each for (whose, name), each in INEQUALITIES.items() if whose == about}


register(MCALLESTER)
register(MAURER)
register(XI)
register(CATONI)
register(PINSKER)
register(BINOMIAL_DRAW)
register(DENSITY)
register(BINOMIAL_FIXED)
