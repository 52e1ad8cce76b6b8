"""The predictors: gibbs, draw, vote, fixed. Each file has its evidence, bound, terms and words.

A new predictor is one new file and one line here.
"""

from __future__ import annotations

from pacbound.certificate.format import Certificate, Claim
from pacbound.errors import unknown_name
from pacbound.predictors.base import Predictor, Term
from pacbound.predictors.draw import DRAW
from pacbound.predictors.fixed import FIXED
from pacbound.predictors.gibbs import GIBBS
from pacbound.predictors.vote import VOTE_GIBBS, VOTE_TANDEM

__all__ = [
    "PREDICTORS",
    "Predictor",
    "Term",
    "predictor_named",
    "predictor_of",
    "register",
    "terms",
]

PREDICTORS: dict[str, Predictor] = {}


def register(predictor: Predictor) -> None:
    """Register a predictor by its name."""
    PREDICTORS[predictor.name] = predictor


def predictor_named(name: str) -> Predictor:
    """The predictor of this name."""
    if name not in PREDICTORS:
        raise unknown_name("predictor", name, PREDICTORS)
    return PREDICTORS[name]


def predictor_of(certificate: Certificate) -> Predictor:
    """The predictor that a certificate covers."""
    return PREDICTORS[certificate.predictor]


def terms(certificate: Certificate, claim: Claim | None = None) -> list[Term]:
    """The terms of a claim's bound; by default of the first claim."""
    return predictor_of(certificate).terms(certificate, claim or certificate.claims[0])


register(GIBBS)
register(DRAW)
register(VOTE_GIBBS)
register(VOTE_TANDEM)
register(FIXED)
