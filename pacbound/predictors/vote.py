"""The majority vote of all networks, weighted by the posterior.

The vote errs only where networks of at least half the weight err. So its risk is at most twice the
risk of one network (`vote-gibbs`), and at most four times the risk that two independent networks
err at once (`vote-tandem`: A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Second Order
PAC-Bayesian Bounds for the Weighted Majority Vote", 2020). Pairs have twice the KL.

A certificate speaks of the vote of all networks. Its bounds also hold for the vote of an odd number
of networks that are drawn anew for every input, which `pacbound.predictors.applied` runs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pacbound.predictors import gibbs
from pacbound.predictors.base import Predictor

__all__ = ["VOTE_GIBBS", "VOTE_TANDEM"]


def _vote(name: str, factor: int, networks: int) -> Predictor:
    return replace(
        gibbs.GIBBS,
        name=name,
        who="the majority vote of all networks, weighted by the posterior,",
        subjects={"zero-one": ("all", "true-class", "group")},
        observe=partial(gibbs.observe, networks=networks),
        bound=partial(gibbs.bound, factor=factor, networks=networks),
        terms=partial(gibbs.terms, factor=factor, networks=networks),
        factor=factor,
        networks=networks,
        held_out=False,
    )


VOTE_GIBBS = _vote("vote-gibbs", factor=2, networks=1)
VOTE_TANDEM = _vote("vote-tandem", factor=4, networks=2)
