"""What a certificate says, what it does not say, and what would make it say more."""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.bounds import chernoff
from pacbound.certificate.checker import FACTORS
from pacbound.certificate.format import Certificate, LearnedCenter
from pacbound.errors import BadInput
from pacbound.printable import printable
from pacbound.report.percent import percent_up
from pacbound.report.remedies import Remedy, remedies
from pacbound.report.situation import Situation
from pacbound.report.terms import Term, terms

__all__ = ["Explanation", "Remedy", "explain"]

SLACK = 1e-6  # a claim that is larger than its figures imply by more is worth a word
RARE = 0.001  # held-out errors that are less likely than this under the claim contradict it
UNSURE = 0.1  # a larger δ is worth a word


@dataclass(frozen=True)
class Explanation:
    """A certificate in words and numbers."""

    claim: str
    not_claimed: tuple[str, ...]
    terms: tuple[Term, ...]  # where the bound comes from
    remedies: tuple[Remedy, ...]  # what would tighten it, the best first
    warnings: tuple[str, ...]


def explain(certificate: Certificate) -> Explanation:
    """The explanation of a certificate; BadInput if its figures are out of range.

    Whether the claim holds is for the checker to say: this one takes the figures as they are.
    """
    try:
        return Explanation(
            claim=printable(certificate.claim.sentence),
            not_claimed=tuple(_not_claimed(certificate)),
            terms=tuple(terms(certificate)),
            remedies=tuple(remedies(certificate)),
            warnings=tuple(_warnings(certificate)),
        )
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise BadInput(f"the certificate's figures cannot be explained: {error}") from error


def _not_claimed(certificate: Certificate) -> list[str]:
    claim, data = certificate.claim, certificate.data
    points = _of_the_predictor(certificate)
    points += [
        "Data from elsewhere: new examples must come, independently, from the distribution that "
        f"the {data.m} examples came from; after a shift of any kind the bound is void.",
        "A single prediction, class or group: the error is an average over all new examples.",
        "Another loss: errors are counted (zero-one); nothing is said of probabilities, "
        "calibration or costs.",
        f"Certainty: the claim may be false with a probability of up to {claim.delta:.4g}, and the "
        "certificate does not show when it is.",
    ]
    if certificate.also.held_out is not None:
        points.append(
            "The held-out set: its error stands beside the claim for comparison, and no part of "
            "the bound comes from it."
        )
    points.append(_of_the_prior(certificate))
    points.append(
        "That its counts and digests are those of the data and the checkpoint: a check recomputes "
        "the claim from them, and only certifying again shows where they come from."
    )
    return points


def _of_the_predictor(certificate: Certificate) -> list[str]:
    """What the claim is not about, though one might use it so."""
    claim = certificate.claim
    if claim.predictor == "gibbs":
        twice = percent_up(min(2 * claim.risk_bound, 1.0))
        return [
            "One network: every prediction is made with weights drawn anew. A network that is "
            "kept, the mean of the weights and the average of predictions are other predictors "
            "(certify --predictor draw certifies a network that is kept).",
            "The majority vote of the networks: it errs at most twice as often, so here its error "
            f"is at most {twice} %.",
        ]
    if claim.predictor == "draw":
        return [
            "Any other network: not another draw, the mean of the weights or an ensemble, and not "
            "this one after pruning, quantising or training on. Its weights have a digest.",
        ]
    factor, networks = FACTORS[claim.predictor]
    basis = "of one network" if networks == 1 else "that two networks err at once"
    return [
        "A vote of a few networks: the claim is for all of them, weighted by the posterior; a "
        "vote of many draws is close to that, and one network is not.",
        f"That the vote is as bad as the bound: it is {factor} times the bound on the risk "
        f"{basis}, which is the worst case.",
    ]


def _of_the_prior(certificate: Certificate) -> str:
    center, trials = certificate.prior.center, certificate.prior.trials
    tried = "one prior was" if trials == 1 else f"{trials} priors were"
    if isinstance(center, LearnedCenter):
        return (
            f"That the prior saw only its {center.learned_from} of the {center.examples} examples, "
            f"and that {tried} tried: its maker declares so (certify --replay-prior trains it "
            "again and compares)."
        )
    return (
        f"That no more than {tried} tried: its maker declares so. What is declared is paid for, "
        "and what was tried in silence is not."
    )


def _warnings(certificate: Certificate) -> list[str]:
    claim, budget, classes = certificate.claim, certificate.budget, certificate.data.classes
    found = []
    if claim.risk_bound >= 1:
        found.append("The bound is 100 %: it says nothing.")
    elif claim.risk_bound >= 1 - 1 / classes:
        found.append(
            f"The bound is no better than guessing among {classes} classes: it says nothing."
        )
    if claim.delta > UNSURE:
        found.append(f"The claim may fail with a probability of {claim.delta:.4g}, which is much.")
    if budget.risk + budget.kl > budget.pac_bayes:
        found.append("Most of δ is spent on Monte Carlo, where draws are cheaper than δ.")
    implied = Situation.of(certificate).bound()
    if claim.risk_bound - implied > SLACK:
        found.append(f"The claim is larger than its own figures imply, {percent_up(implied)} %.")
    held_out = certificate.also.held_out
    if held_out is not None and held_out.errors:
        lowest = 1 - chernoff.risk_limit(held_out.n - held_out.errors, held_out.n, RARE)
        if lowest > claim.risk_bound:
            found.append(
                f"The {held_out.errors} errors in {held_out.n} held-out examples contradict the "
                "claim: those examples come from elsewhere, or something is wrong."
            )
    return found
