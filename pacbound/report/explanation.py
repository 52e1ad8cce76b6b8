"""What a certificate claims, what it does not claim, and what would tighten it."""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.bounds import chernoff
from pacbound.certificate.format import Certificate, Claim
from pacbound.errors import CertificateError
from pacbound.predictors import predictor_of
from pacbound.printable import printable
from pacbound.priors import prior_of
from pacbound.report.ledger import ledger_in_words
from pacbound.report.remedies import Remedy, remedies
from pacbound.report.terms import Term, principal, terms

__all__ = ["ClaimLine", "Explanation", "Remedy", "explain", "is_vacuous"]

RARE = 0.001  # held-out errors less likely than this under the claim contradict it
UNSURE = 0.1  # a larger δ gets a warning


@dataclass(frozen=True)
class ClaimLine:
    """One claim: its subject, its loss, and its figures."""

    subject: str
    loss: str
    m: int
    delta: float
    empirical: float
    limit: float | None  # the limit of a Monte Carlo estimate
    bound: float


@dataclass(frozen=True)
class Explanation:
    """A certificate in words and numbers."""

    claim: str  # the sentence
    claims: tuple[ClaimLine, ...]
    ledger: str  # the declared trials and their cost
    not_claimed: tuple[str, ...]
    terms: tuple[Term, ...]  # the terms of the principal claim's bound
    remedies: tuple[Remedy, ...]  # changes that would tighten it, the best first
    warnings: tuple[str, ...]


def explain(certificate: Certificate) -> Explanation:
    """The explanation of a certificate; PacboundError if its figures are out of range.

    The checker decides whether the claims hold. This function takes the figures as they are.
    """
    try:
        return Explanation(
            claim=printable(certificate.sentence),
            claims=tuple(map(claim_line, certificate.claims)),
            ledger=ledger_in_words(certificate),
            not_claimed=tuple(_not_claimed(certificate)),
            terms=tuple(terms(certificate)),
            remedies=tuple(remedies(certificate)),
            warnings=tuple(_warnings(certificate)),
        )
    except (
        ArithmeticError,
        AssertionError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise CertificateError(f"the certificate's figures cannot be explained: {error}") from error


def claim_line(claim: Claim) -> ClaimLine:
    """A claim as a line of a table."""
    subjects = {"all": "all inputs", "answered": "answered inputs"}
    losses = {"zero-one": "error", "abstention": "abstention", "cost": f"cost “{claim.cost}”"}
    scope = f"group “{claim.group}”" if claim.group is not None else claim.scope
    return ClaimLine(
        subject=printable(subjects.get(claim.subject, scope)),
        loss=printable(losses[claim.loss]),
        m=claim.m,
        delta=float(claim.delta),
        empirical=float(claim.empirical),
        limit=None if claim.limit is None else float(claim.limit),
        bound=float(claim.bound),
    )


def is_vacuous(certificate: Certificate) -> bool:
    """Whether guessing among the classes is as good as the claim."""
    overall = certificate.overall
    if overall is None:
        return all(claim.bound >= 1 for claim in certificate.claims)
    return float(overall.bound) >= 1 - 1 / certificate.data.classes


def _not_claimed(certificate: Certificate) -> list[str]:
    points = predictor_of(certificate).not_claimed(certificate)
    points.append(
        "Data from elsewhere: new examples must be independent draws from the distribution that "
        f"the {certificate.data.m} counted examples came from. After a shift of any kind the bound "
        "is void."
    )
    points += _of_the_subjects(certificate)
    points.append(
        f"Certainty: with a probability of up to {float(certificate.delta):.4g} a claim is false, "
        "and the certificate does not show when it is."
    )
    if certificate.held_out is not None:
        points.append(
            "The held-out set: its error is shown for comparison. The bound does not depend on it."
        )
    points += _of_declarations(certificate)
    points.append(
        "That its counts and digests are those of the data and of the predictor: a check "
        "recomputes the claims from them, and only certifying again shows where they come from."
    )
    return points


def _of_the_subjects(certificate: Certificate) -> list[str]:
    """The subjects and losses that the claims do not cover."""
    subjects = {claim.subject for claim in certificate.claims}
    average = "an error is an average over all new examples that a claim is about"
    points = []
    if subjects == {"all"}:
        points.append(f"A single prediction, class or group: {average}.")
    else:
        points.append(f"A single prediction, and classes or groups without a claim: {average}.")
    if certificate.overall is None:
        points.append("The error over all inputs: no claim is made about it.")
    costs = any(claim.loss == "cost" for claim in certificate.claims)
    points.append(
        "Another loss: nothing is said of probabilities and calibration"
        + (", or of costs other than those named." if costs else ", or of costs.")
    )
    return points


def _of_declarations(certificate: Certificate) -> list[str]:
    """Declarations of its maker that a checker cannot verify."""
    data, model = certificate.data, certificate.model
    points = prior_of(certificate).declarations(certificate)
    if model.extractors:
        origins = ", ".join(f"“{printable(each.origin)}”" for each in model.extractors)
        points.append(
            f"That the extractors of its inputs saw no counted example: its maker declares so of "
            f"{origins}."
        )
    if model.answer_above:
        points.append(
            f"That the threshold {model.answer_above} was fixed without the counted examples: its "
            "maker declares so."
        )
    if data.copies == "independent" and data.duplicates:
        points.append(
            f"That the {data.duplicates} exact copies are independent examples: its maker declares "
            "so. If they are not, the bound is too small."
        )
    if data.copies == "unknown":
        points.append(
            "That no example was counted twice: the examples have no content and no id, so copies "
            "cannot be detected."
        )
    points.append(
        "That no more was tried than the ledger declares: what is declared is paid for, and what "
        "was tried in silence is not."
    )
    return points


def _warnings(certificate: Certificate) -> list[str]:
    claim, classes, overall = principal(certificate), certificate.data.classes, certificate.overall
    found = []
    if all(each.bound >= 1 for each in certificate.claims):
        found.append("The bound is 100 %: it says nothing.")
    elif is_vacuous(certificate):
        found.append(
            f"The bound is no better than guessing among {classes} classes: it says nothing."
        )
    if certificate.delta > UNSURE:
        found.append(f"The claim fails with a probability of up to {float(certificate.delta):.4g}.")
    evidence = certificate.evidence
    sampling = float(claim.delta_risk or 0)
    if evidence is not None and evidence.delta_kl is not None:
        sampling += float(evidence.delta_kl)
    if sampling > claim.delta:
        found.append("Most of δ is spent on Monte Carlo, where draws are cheaper than δ.")
    held_out = certificate.held_out
    if overall is not None and held_out is not None and held_out.errors and held_out.examples:
        right = held_out.examples - held_out.errors
        if 1 - chernoff.risk_limit(right, held_out.examples, RARE) > overall.bound:
            found.append(
                f"The {held_out.errors} errors in {held_out.examples} held-out examples contradict "
                "the claim: those examples come from elsewhere, or something is wrong."
            )
    return found
