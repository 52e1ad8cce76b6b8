"""Posteriors q over one weight tensor: W = M + noise(E), E standard normal."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from torch import Tensor

from pacbound.errors import unknown_name
from pacbound.posteriors.base import Posterior
from pacbound.posteriors.diag import Diag
from pacbound.posteriors.k_diag import KDiag
from pacbound.posteriors.k_linear import KLinear
from pacbound.posteriors.k_nonlinear import KNonlinear
from pacbound.posteriors.point import Point

__all__ = [
    "POSTERIORS",
    "Diag",
    "Family",
    "KDiag",
    "KLinear",
    "KNonlinear",
    "Point",
    "Posterior",
    "posterior_named",
]

Family: TypeAlias = Callable[[Tensor, float], Posterior]  # of a centre and a starting scale

POSTERIORS: dict[str, type[Posterior]] = {
    "diag": Diag,
    "k-diag": KDiag,
    "k-linear": KLinear,
    "k-nonlinear": KNonlinear,
}


def posterior_named(name: str, **flow: Any) -> Family:
    """The posterior family of that name, or "point"; `flow` describes K-Nonlinear's flows."""
    if name == "point":
        return Point
    if name not in POSTERIORS:
        raise unknown_name("posterior", name, POSTERIORS)
    return partial(KNonlinear, **flow) if name == "k-nonlinear" else POSTERIORS[name]
