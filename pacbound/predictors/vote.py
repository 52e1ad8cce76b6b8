"""The majority vote of all networks, weighted by the posterior.

The vote errs only where networks with at least half of the weight err. So its risk is at most twice
the risk of one network (`vote-gibbs`), and at most four times the risk that two independent
networks err together (`vote-tandem`: A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Second Order
PAC-Bayesian Bounds for the Weighted Majority Vote", 2020). Pairs have twice the KL.

A certificate covers the vote of all networks. Its bounds also hold for the vote of an odd number
of networks that are drawn anew for every input. `pacbound.predictors.applied` runs this vote.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pacbound.certificate.format import Certificate, Claim
from pacbound.predictors import gibbs
from pacbound.predictors.base import Predictor

__all__ = ["VOTE_GIBBS", "VOTE_TANDEM"]


def not_claimed(certificate: Certificate, factor: int, networks: int) -> list[str]:
    """Votes of a few networks, and a vote as bad as the bound."""
    basis = "that two networks err at once" if networks > 1 else "of one network"
    return [
        "A vote of a few networks, and what pacbound predict prints: the claim is for the vote of "
        "all networks, weighted by the posterior. predict averages the probabilities of some "
        "draws, which is another predictor.",
        f"That the vote is as bad as the bound: it is {factor} times the bound on "
        f"the risk {basis}, which is the worst case.",
    ]


def _no_offer(certificate: Certificate, claim: Claim, other: Predictor) -> None:
    return None  # a vote's bound is larger than that of its networks


def _vote(name: str, title: str, options: str, factor: int, networks: int) -> Predictor:
    return replace(
        gibbs.GIBBS,
        name=name,
        title=title,
        options=options,
        who="the majority vote of all networks, weighted by the posterior,",
        applied="Each input was predicted by the vote of {networks} networks, drawn for it "
        "from the posterior. The certificate covers the vote of all networks. Its bounds "
        "also hold for the vote of an odd number of networks that are drawn anew for every "
        "input, on average over inputs and draws.",
        not_claimed=partial(not_claimed, factor=factor, networks=networks),
        subjects={"zero-one": ("all", "true-class", "group")},
        observe=partial(gibbs.observe, networks=networks),
        bound=partial(gibbs.bound, factor=factor, networks=networks),
        terms=partial(gibbs.terms, factor=factor, networks=networks),
        offer=_no_offer,
        factor=factor,
        networks=networks,
        held_out=False,
        is_default=False,
    )


VOTE_GIBBS = _vote(
    "vote-gibbs",
    "majority vote, through the risk of one network",
    "--predictor vote",
    factor=2,
    networks=1,
)
VOTE_TANDEM = _vote(
    "vote-tandem",
    "majority vote, through the risk of pairs",
    "--predictor vote --vote-by tandem",
    factor=4,
    networks=2,
)
