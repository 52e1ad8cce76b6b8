"""What a kind of prior is: what it saw, what its maker declares, and how it is put in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pacbound.certificate.format import Certificate
    from pacbound.recipes.settings import Settings

__all__ = ["PriorKind", "learner"]


def _never(settings: Settings) -> bool:
    return False


@dataclass(frozen=True)
class PriorKind:
    """A kind of prior by its name.

    Arguments:
        origin: What it is and what it saw, in a few words.
        notes: Sentences that a certificate says about it.
        declarations: What its maker declares and no checker sees.
        is_free_of_data: Whether no example was seen by it, so that it is far from the posterior.
        learns: Whether it learned from a part of the examples, which are then not counted.
        is_of: Whether settings describe a prior of this kind.
    """

    name: str
    origin: Callable[[Certificate], str]
    notes: Callable[[Certificate], list[str]] = lambda certificate: []
    declarations: Callable[[Certificate], list[str]] = lambda certificate: []
    is_free_of_data: bool = False
    learns: bool = False
    is_of: Callable[[Settings], bool] = _never


def learner(certificate: Certificate) -> str:
    """What learned: the prior, or its centre as a predictor without a posterior around it."""
    return "predictor" if certificate.model.posterior is None else "prior"
