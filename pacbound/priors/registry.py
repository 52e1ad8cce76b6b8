"""The kinds of priors by name. A new kind is one new file and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacbound.certificate.format import Certificate
from pacbound.priors.base import PriorKind
from pacbound.priors.from_elsewhere import ELSEWHERE
from pacbound.priors.initialised import INITIALISED
from pacbound.priors.learned import LEARNED
from pacbound.priors.none import NONE

if TYPE_CHECKING:
    from pacbound.recipes.settings import Settings

__all__ = ["PRIORS", "kind_of", "prior_of", "register"]

PRIORS: dict[str, PriorKind] = {}


def register(kind: PriorKind) -> None:
    """Register a kind of prior by its name."""
    PRIORS[kind.name] = kind


def prior_of(certificate: Certificate) -> PriorKind:
    """The kind of a certificate's prior."""
    return PRIORS[certificate.prior.kind]


def kind_of(settings: Settings) -> PriorKind:
    """The kind of prior that settings describe."""
    return next(kind for kind in PRIORS.values() if kind.is_of(settings))


register(INITIALISED)
register(LEARNED)
register(ELSEWHERE)
register(NONE)
