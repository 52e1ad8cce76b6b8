"""Posteriors q over one weight tensor: W = M + noise(E), E standard normal."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pacbound.posteriors.registry import (
    POSTERIORS,
    Family,
    PosteriorKind,
    posterior_kind,
    posterior_named,
    register,
)

if TYPE_CHECKING:
    from pacbound.posteriors.across import Across as Across
    from pacbound.posteriors.base import Piece as Piece
    from pacbound.posteriors.base import Posterior as Posterior
    from pacbound.posteriors.blocked import Blocked as Blocked
    from pacbound.posteriors.cut import Cut as Cut
    from pacbound.posteriors.diag import Diag as Diag
    from pacbound.posteriors.k_diag import KDiag as KDiag
    from pacbound.posteriors.k_linear import KLinear as KLinear
    from pacbound.posteriors.k_nonlinear import KNonlinear as KNonlinear
    from pacbound.posteriors.point import Point as Point

__all__ = [
    "POSTERIORS",
    "Across",
    "Blocked",
    "Cut",
    "Diag",
    "Family",
    "KDiag",
    "KLinear",
    "KNonlinear",
    "Piece",
    "Point",
    "Posterior",
    "PosteriorKind",
    "posterior_kind",
    "posterior_named",
    "register",
]

# The module of each class, imported on first use: settings are read without torch.
_PLACES = {
    "Across": "across",
    "Blocked": "blocked",
    "Cut": "cut",
    "Diag": "diag",
    "KDiag": "k_diag",
    "KLinear": "k_linear",
    "KNonlinear": "k_nonlinear",
    "Piece": "base",
    "Point": "point",
    "Posterior": "base",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
