"""The description of a kind of prior: the data it saw, what is declared, and its wording."""

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
        origin: What it is and what data it saw, in a few words.
        notes: Sentences about it in a certificate.
        declarations: Declarations of its maker that a checker cannot verify.
        is_free_of_data: Whether it saw no example. It is then far from the posterior.
        learns: Whether it was trained on a part of the examples, which are then not counted.
        keeps_values: Whether it has given values, which nobody can make again.
        is_of: Whether settings describe a prior of this kind.
    """

    name: str
    origin: Callable[[Certificate], str]
    notes: Callable[[Certificate], list[str]] = lambda certificate: []
    declarations: Callable[[Certificate], list[str]] = lambda certificate: []
    is_free_of_data: bool = False
    learns: bool = False
    keeps_values: bool = False
    is_of: Callable[[Settings], bool] = _never


def learner(certificate: Certificate) -> str:
    """The trained object: the prior, or its centre as a predictor without a posterior."""
    return "predictor" if certificate.model.posterior is None else "prior"
