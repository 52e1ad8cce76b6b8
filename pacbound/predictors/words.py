"""The sentence of a certificate (SPEC.md, section 13)."""

from __future__ import annotations

from decimal import Decimal
from itertools import groupby

from pacbound.certificate.format import Certificate, Claim
from pacbound.certificate.shown import confidence, percent
from pacbound.priors import prior_of

__all__ = ["confidence", "coverage", "percent", "sentence"]


def coverage(abstention: Decimal) -> str:
    """1 minus a rate of abstention, in per cent, rounded down where `percent` rounds up."""
    return format(100 - Decimal(percent(abstention)), "f")


def _scope(claims: list[Claim]) -> str:
    first, n = claims[0], len(claims)
    one = n == 1
    if first.subject == "answered":
        return " among the inputs that it answers"
    if first.subject == "true-class":
        whose = f"true class {first.class_}" if one else f"each of {n} true classes"
        return f" on examples of {whose}"
    if first.subject == "predicted-class":
        return f" where it predicts {f'class {first.class_}' if one else f'each of {n} classes'}"
    if first.subject == "group":
        return f" in the group “{first.group}”" if one else f" in each of {n} groups"
    return ""


def _clause(claims: list[Claim]) -> str:
    """The clause of a family of claims: its largest bound holds for all of them."""
    largest = max(claim.bound for claim in claims)
    if claims[0].loss == "abstention":
        return f"it answers at least {coverage(largest)} % of the inputs"
    if claims[0].loss == "cost":
        what = f"mean cost “{claims[0].cost}”"
        return f"its {what}{_scope(claims)} is at most {percent(largest)} % of the unit"
    return f"its error{_scope(claims)} is at most {percent(largest)} %"


def _notes(certificate: Certificate) -> list[str]:
    """Notes about declarations, and about what cannot be checked."""
    model, data = certificate.model, certificate.data
    notes = prior_of(certificate).notes(certificate)
    if model.extractors:
        notes.append(
            f"The extractors of its inputs (number: {len(model.extractors)}) are declared to be "
            "free of the counted examples."
        )
    if model.answer_above:
        notes.append(
            f"It answers where its confidence is above {model.answer_above}, a threshold that is "
            "declared to have been fixed without the counted examples."
        )
    ledger = certificate.ledger
    place = ledger.certificates.counted == "place"
    number = ledger.certificates.number
    if ledger.candidates > 1 or ledger.looks or place or number > 1:
        counted = "place in the order of certificates" if place else "certificates"
        notes.append(
            f"Declared and paid for: candidates {ledger.candidates}, adaptive looks "
            f"{ledger.looks}, {counted} {number}."
        )
    if data.copies == "unknown":
        notes.append("Copies among the examples cannot be detected.")
    elif data.duplicates:
        declared = ", declared to be independent examples" * (data.copies == "independent")
        notes.append(
            f"Exact copies among the {data.examples} examples: {data.duplicates}{declared}."
        )
    return notes


def sentence(certificate: Certificate, over: str, who: str) -> str:
    """The certificate's claims in words.

    Arguments:
        over: The sources of randomness besides the examples.
        who: The predictor.
    """
    families = groupby(certificate.claims, lambda claim: (claim.subject, claim.loss, claim.cost))
    clauses = "; ".join(_clause(list(family)) for _, family in families)
    head = (
        f"With probability at least {confidence(certificate.delta)} % over the draw of the "
        f"{certificate.data.m} counted examples{over}, the following holds for {who} on new data "
        "from the same distribution: "
    )
    return " ".join([f"{head}{clauses}.", *_notes(certificate)])
