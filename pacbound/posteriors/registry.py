"""The posteriors by name: their capabilities, and the location of their classes.

A new posterior is one new file and one line at the end of this one. Classes are imported on first
use, so settings are read without torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from pacbound.errors import unknown_name

if TYPE_CHECKING:
    from torch import Tensor

    from pacbound.posteriors.base import Posterior

__all__ = ["POSTERIORS", "Family", "PosteriorKind", "posterior_kind", "posterior_named", "register"]

Family: TypeAlias = "Callable[[Tensor, float], Posterior]"  # (centre, initial scale)


@dataclass(frozen=True)
class PosteriorKind:
    """A posterior by its name, with its capabilities.

    Arguments:
        place: The class, or `package.module:class`.
        has_noise: Whether weights vary. Without noise, the KL to any prior is infinite.
        has_exact_kl: Whether the KL has a closed form after training. Otherwise it is sampled.
        starts_as: The posterior that it is in a first phase of training (`linear_epochs`), before a
            last phase with its own learning rate; empty if training has no such phase.
        dense_modes: Whether it needs a square matrix for every mode of a tensor.
        maps_across: Whether its maps can run across blocks that have prior variances of their own.
    """

    name: str
    place: str | type[Posterior]
    has_noise: bool = True
    has_exact_kl: bool = True
    starts_as: str = ""
    dense_modes: bool = False
    maps_across: bool = False

    @property
    def posterior(self) -> type[Posterior]:
        """The class."""
        if not isinstance(self.place, str):
            return self.place
        module, _, name = self.place.partition(":")
        found: type[Posterior] = getattr(import_module(module), name)
        return found


POSTERIORS: dict[str, PosteriorKind] = {}


def register(kind: PosteriorKind) -> None:
    """Register a posterior by its name."""
    POSTERIORS[kind.name] = kind


def posterior_kind(name: str) -> PosteriorKind:
    """The posterior of this name, with its capabilities."""
    if name not in POSTERIORS:
        raise unknown_name("posterior", name, POSTERIORS)
    return POSTERIORS[name]


def posterior_named(name: str, **options: Any) -> Family:
    """The factory of posteriors of this name; `options` describe their flows, if any."""
    return posterior_kind(name).posterior.family(**options)


register(PosteriorKind("point", "pacbound.posteriors.point:Point", has_noise=False))
register(PosteriorKind("diag", "pacbound.posteriors.diag:Diag"))
register(PosteriorKind("k-diag", "pacbound.posteriors.k_diag:KDiag", maps_across=True))
register(
    PosteriorKind(
        "k-linear", "pacbound.posteriors.k_linear:KLinear", dense_modes=True, maps_across=True
    )
)
register(
    PosteriorKind(
        "k-nonlinear",
        "pacbound.posteriors.k_nonlinear:KNonlinear",
        has_exact_kl=False,
        starts_as="k-linear",
        dense_modes=True,
        maps_across=True,
    )
)
