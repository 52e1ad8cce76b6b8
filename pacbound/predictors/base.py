"""What a predictor can be certified for, and by what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pacbound.bounds import codes
from pacbound.bounds.inequalities import inequalities
from pacbound.bounds.inequality import Given, Inequality
from pacbound.bounds.rounding import exact
from pacbound.certificate.format import (
    Certificate,
    Claim,
    Evidence,
    Ledger,
    Prior,
    Seeds,
    Validation,
    Variance,
)

if TYPE_CHECKING:
    from torch import nn

    from pacbound.predictors.budget import Shares
    from pacbound.predictors.chunks import Sampler
    from pacbound.predictors.claims import Asked
    from pacbound.predictors.risk import Examples
    from pacbound.training.problem import Problem

__all__ = ["Observed", "Offer", "Paid", "Predictor", "Situation", "Term", "factor_of"]


@dataclass(frozen=True)
class Paid:
    """What every claim of a certificate pays, in nats as the certificate shows them."""

    evidence: Decimal
    code: Decimal
    ledger: Decimal
    validation: Validation | None = None

    def given(self, claim: Claim, networks: int = 1, factor: int = 1) -> Given:
        """What the bound of a claim follows from, as decimals."""
        seen = self.validation
        return Given(
            risk=claim.mean if claim.limit is None else claim.limit,
            errors=claim.errors,
            m=claim.m,
            delta=claim.delta,
            divergence=networks * self.evidence,
            code=self.code,
            ledger=self.ledger,
            validation=(seen.errors, seen.examples) if seen is not None else (0, 0),
            factor=factor,
        )


@dataclass(frozen=True)
class Term:
    """One step from the empirical risk to the bound."""

    name: str
    amount: str  # in its own unit
    adds: float  # to the bound, after the steps before it
    total: float  # the bound so far


@dataclass(frozen=True)
class Situation:
    """What is fixed before anything is sampled or counted."""

    problem: Problem
    grouping: str
    train: Examples  # the counted ones, as the network sees them
    test: Examples | None
    claims: tuple[Asked, ...]
    shares: Shares
    certificates: Any  # F, an interval
    seed: Callable[[str], str]  # by its purpose
    draws: int
    weights: int
    samples: int
    tail: str
    limit: str
    device: str
    sampler: Sampler


@dataclass(frozen=True)
class Observed:
    """What was sampled or counted: claims without their limits and bounds, and the evidence."""

    claims: tuple[Claim, ...]
    evidence: Evidence | None = None
    variances: tuple[Variance, ...] = ()
    seeds: Seeds | None = None
    held_out: tuple[int, int] | None = None  # errors, examples
    network: nn.Module | None = None  # the one that was counted


@dataclass(frozen=True)
class Offer:
    """What a certificate of a predictor would follow from, where another one was certified.

    Arguments:
        change: The predictor, in words.
        risk: Its mean loss on the counted examples, as far as the other certificate tells.
        share: Of δ, for the inequality.
        divergence, code: In nats.
        assumes: What is taken for granted, in words.
        is_same_event: Both hold at once, so that nothing is chosen or paid for.
    """

    change: str
    inequality: str
    risk: float
    share: float
    divergence: float
    code: float
    assumes: str
    is_same_event: bool = False


def _none(certificate: Certificate, claim: Claim, other: Predictor) -> Offer | None:
    return None


@dataclass(frozen=True)
class Predictor:
    """A kind of predictor, with what its certificates say and how.

    Arguments:
        title: What it is, in a few words.
        options: Those of `pacbound certify` that select it.
        over, who: Words of the sentence.
        not_claimed: What a certificate of it is not about, though one might use it so.
        applied: Who made predictions, and why the certificate covers them; {networks} is how many
            networks each input was shown to.
        divergence: The name of the nats that its distance from the prior takes.
        subjects: For each loss, of whom it can be claimed.
        about: Whose risk its inequalities bound, in the words of `bounds.inequality`.
        rule: The inequality that is used unless another was selected beforehand.
        observe: Samples or counts.
        bound: The bound of a claim with its counts and limit.
        terms: Where a claim's bound comes from.
        sampled: Whether its empirical risk is estimated by Monte Carlo, or counted.
        offer: What its certificate would follow from, where another predictor was certified.
        factor, networks: A vote's bound is so many times that of so many networks.
        held_out: Whether its errors on a test set can be counted.
        has_posterior: Whether it is made of networks of a posterior.
        needs_learned_prior: Whether it is a part of a learned prior.
        exports_network: Whether it is one network that can be written to a file.
        is_default: Whether it is certified unless another is asked for.
    """

    name: str
    title: str
    options: str
    over: str
    who: str
    not_claimed: Callable[[Certificate], list[str]]
    applied: str
    divergence: str
    subjects: Mapping[str, tuple[str, ...]]
    about: str
    rule: Callable[[Prior], str]
    observe: Callable[[Situation], Observed]
    bound: Callable[[Paid, Claim, str], Decimal]
    terms: Callable[[Certificate, Claim], list[Term]]
    sampled: bool
    offer: Callable[[Certificate, Claim, Predictor], Offer | None] = _none
    factor: int = 1
    networks: int = 1
    held_out: bool = True
    has_posterior: bool = True
    needs_learned_prior: bool = False
    exports_network: bool = False
    is_default: bool = False

    @property
    def inequalities(self) -> dict[str, Inequality]:
        """Those that bound its risk, by name."""
        return inequalities(self.about)


def factor_of(ledger: Ledger) -> Any:
    """F: by how much the certificates to choose from divide shares of δ; in `precise`."""
    entry = ledger.certificates
    return codes.certificates_factor(entry.counted, entry.number, exact(1))
