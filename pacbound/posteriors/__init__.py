"""Posteriors q over one weight tensor: W = M + noise(E), E standard normal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from torch import Tensor

from pacbound.errors import unknown_name
from pacbound.posteriors.base import Posterior
from pacbound.posteriors.diag import Diag
from pacbound.posteriors.k_diag import KDiag
from pacbound.posteriors.k_linear import KLinear

__all__ = ["POSTERIORS", "Diag", "Family", "KDiag", "KLinear", "Posterior", "posterior_named"]

Family: TypeAlias = Callable[[Tensor, float], Posterior]  # of a centre and a starting scale

POSTERIORS: dict[str, Family] = {"diag": Diag, "k-diag": KDiag, "k-linear": KLinear}


def posterior_named(name: str) -> Family:
    """The posterior family of that name."""
    if name not in POSTERIORS:
        raise unknown_name("posterior", name, POSTERIORS)
    return POSTERIORS[name]
