"""The interface of a predictor: what can be certified for it, and how."""

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
    """The costs shared by all claims of a certificate, in nats as the certificate shows them."""

    evidence: Decimal
    code: Decimal
    ledger: Decimal
    validation: Validation | None = None

    def given(self, claim: Claim, networks: int = 1, factor: int = 1) -> Given:
        """The inputs of a claim's bound, as decimals."""
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
    amount: str  # with its unit
    adds: float  # to the bound, after the previous steps
    total: float  # the bound so far


@dataclass(frozen=True)
class Situation:
    """Everything that is fixed before anything is sampled or counted."""

    problem: Problem
    grouping: str
    train: Examples  # the counted examples, as the network sees them
    test: Examples | None
    claims: tuple[Asked, ...]
    shares: Shares
    certificates: Any  # F, an interval
    seed: Callable[[str], str]  # by purpose
    draws: int
    weights: int
    samples: int
    tail: str
    limit: str
    device: str
    sampler: Sampler
    answer_above: str = ""  # the threshold of the confidence; empty to answer always


@dataclass(frozen=True)
class Observed:
    """The result of sampling or counting: claims without limits and bounds, and the evidence."""

    claims: tuple[Claim, ...]
    evidence: Evidence | None = None
    variances: tuple[Variance, ...] = ()
    seeds: Seeds | None = None
    held_out: tuple[int, int] | None = None  # errors, examples
    network: nn.Module | None = None  # the network whose errors were counted


@dataclass(frozen=True)
class Offer:
    """The expected figures of a predictor's certificate, when another one was certified.

    Arguments:
        change: The predictor, in words.
        risk: Its mean loss on the counted examples, as far as the other certificate tells.
        share: The share of δ for the inequality.
        divergence, code: In nats.
        assumes: The assumptions, in words.
        is_same_event: Both hold on the same event, so nothing is chosen or paid for.
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
    """A kind of predictor, and the content of its certificates.

    Arguments:
        title: What it is, in a few words.
        options: The options of `pacbound certify` that select it.
        over, who: Words of the sentence.
        not_claimed: What its certificate does not claim, although a reader might think so.
        applied: Which predictor was used, and why the certificate covers it; {networks} is the
            number of networks per input.
        divergence: The name of its divergence from the prior, in nats.
        subjects: For each loss, the subjects that can be claimed.
        about: Whose risk its inequalities bound, in the words of `bounds.inequality`.
        rule: The inequality used unless another was chosen beforehand.
        observe: Samples or counts.
        bound: The bound of a claim with its counts and limit.
        terms: The terms of a claim's bound.
        sampled: Whether its empirical risk is estimated by Monte Carlo. Otherwise it is counted.
        offer: The expected figures of its certificate, when another predictor was certified.
        factor, networks: A vote's bound is `factor` times the bound for `networks` networks.
        held_out: Whether its errors on a test set can be counted.
        has_posterior: Whether it consists of networks of a posterior.
        needs_learned_prior: Whether it is part of a learned prior.
        exports_network: Whether it is one network, which can be written to a file and can abstain.
        is_default: Whether it is the default.
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
        """The inequalities that bound its risk, by name."""
        return inequalities(self.about)


def factor_of(ledger: Ledger) -> Any:
    """F: the factor by which the available certificates divide shares of δ; in `precise`."""
    entry = ledger.certificates
    return codes.certificates_factor(entry.counted, entry.number, exact(1))
