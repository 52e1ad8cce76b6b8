"""No prior: a predictor that was fixed before the counted examples were seen needs none."""

from __future__ import annotations

from pacbound.certificate.format import Certificate
from pacbound.priors.base import PriorKind

__all__ = ["NONE"]


def _notes(certificate: Certificate) -> list[str]:
    return ["The predictor is declared to have been fixed before the counted examples were seen."]


def _declarations(certificate: Certificate) -> list[str]:
    return [
        "That the predictor was fixed before the counted examples were seen: its maker declares so."
    ]


NONE = PriorKind("none", lambda certificate: "none", _notes, _declarations)
