"""A prior from elsewhere. Its maker declares that it is free of the counted examples."""

from __future__ import annotations

from pacbound.certificate.format import Certificate
from pacbound.printable import printable
from pacbound.priors.base import PriorKind

__all__ = ["ELSEWHERE"]


def _origin(certificate: Certificate) -> str:
    return f"from elsewhere: {certificate.prior.origin}"


def _notes(certificate: Certificate) -> list[str]:
    origin = certificate.prior.origin
    return [f"The prior is declared to be free of the counted examples (“{origin}”)."]


def _declarations(certificate: Certificate) -> list[str]:
    return [
        "That the prior was made without the counted examples: its maker declares so, and "
        f"that it comes from “{printable(certificate.prior.origin or '')}”."
    ]


ELSEWHERE = PriorKind("elsewhere", _origin, _notes, _declarations)
