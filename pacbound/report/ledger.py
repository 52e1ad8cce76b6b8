"""The trials declared in the ledger of a certificate, and their cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pacbound.certificate.format import Certificate
from pacbound.predictors import predictor_of
from pacbound.report.situation import factor

__all__ = ["LedgerLine", "ledger_in_words", "ledger_lines"]


@dataclass(frozen=True)
class LedgerLine:
    """One entry: the recipe's, the user's, and the cost of both."""

    name: str
    recipe: str
    user: str
    cost: str
    meaning: str


def ledger_lines(certificate: Certificate) -> list[LedgerLine]:
    """Candidates, looks and certificates."""
    recipe, user = certificate.ledger.recipe, certificate.ledger.user
    counted, times = certificate.ledger.certificates, factor(certificate)
    is_place = counted.counted == "place"
    if not predictor_of(certificate).sampled:
        cost = _nats(math.log(times))
    elif times == 1:
        cost = "nothing"
    else:
        cost = f"δ of Monte Carlo divided by {times:.4g}"
    return [
        LedgerLine(
            "candidates",
            str(recipe.candidates),
            str(user.candidates),
            _nats(math.log(certificate.ledger.candidates)),
            "alternatives listed before the first look at the counted examples",
        ),
        LedgerLine(
            "looks",
            str(recipe.looks),
            str(user.looks),
            _nats(certificate.ledger.looks * math.log(2)),
            "results on the counted examples that led to a change",
        ),
        LedgerLine(
            "place among certificates" if is_place else "certificates",
            "",
            str(counted.number),
            cost,
            "this one's number in the order of making"
            if is_place
            else "made or to be made to choose from, this one included",
        ),
    ]


def ledger_in_words(certificate: Certificate) -> str:
    """The ledger in one sentence."""
    ledger, counted = certificate.ledger, certificate.ledger.certificates
    nothing = (ledger.candidates, ledger.looks, counted.counted, counted.number)
    if nothing == (1, 0, "declared", 1):
        return "One candidate, no look at the counted examples and one certificate are declared."
    place = (
        f"place {counted.number} in the order of certificates"
        if counted.counted == "place"
        else f"{counted.number} certificate{'s' if counted.number > 1 else ''}"
    )
    return (
        f"Declared: {_count(ledger.candidates, 'candidate')}, {_count(ledger.looks, 'look')} at "
        f"the counted examples, {place}. This costs {float(certificate.bound.ledger):.3g} nats"
        + (
            "."
            if not predictor_of(certificate).sampled or factor(certificate) == 1
            else f" and divides the Monte Carlo shares of δ by {factor(certificate):.3g}."
        )
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _nats(amount: float) -> str:
    return f"{amount:.2f} nats" if amount else "nothing"
