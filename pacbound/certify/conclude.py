"""From primitives to the bound: every number of the certificate on its safe side."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from pacbound.bounds import (
    betting,
    binomial,
    catoni,
    chernoff,
    gaussian_tail,
    maurer,
    mcallester,
    pinsker,
    theorem3,
)
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.bounds.density_ratio import log_density_ratio
from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.prior_grid import B, C, best_index, index_cost, variance
from pacbound.bounds.rounding import exact, precise, round_up
from pacbound.certificate import checker
from pacbound.certificate.format import (
    Also,
    Bound,
    Catoni,
    DrawnGroup,
    DrawnRatio,
    ExactKL,
    HeldOut,
    KLGroup,
    MonteCarloGroup,
    MonteCarloKL,
    PerExampleRisk,
    PerWeightsRisk,
    Prior,
    Tail,
    Variance,
    WholeSetRisk,
)
from pacbound.certify.divergence import ExactPrimitives, SampledPrimitives
from pacbound.certify.drawn import DrawnPrimitives

__all__ = [
    "INEQUALITIES",
    "LIMITS",
    "TAILS",
    "bound",
    "claimed",
    "drawn_bound",
    "drawn_ratio",
    "exact_kl",
    "held_out_limit",
    "per_example_risk",
    "per_weights_risk",
    "sampled_kl",
    "vote_bound",
    "whole_set_risk",
]

INEQUALITIES = {"mcallester": mcallester.complexity, "maurer": maurer.complexity}
LIMITS = {"betting": betting.risk_limit, "chernoff": chernoff.mean_limit}
TAILS = ("gaussian", "theorem3")


def _published(number: float) -> Any:
    """The decimal that a certificate prints, which is what the checker reads."""
    return exact(repr(number))


Fixed: TypeAlias = Sequence[float] | None  # the variance of every group, of a learned prior


def _variances(
    groups: Sequence[ExactPrimitives | SampledPrimitives | DrawnPrimitives],
    second_moments: Sequence[float],
    fixed: Fixed,
) -> tuple[Variance, ...]:
    """The prior variances on the grid at which every group's KL and its cost are smallest.

    A learned prior's own were fixed before the examples that count were seen: they cost nothing.
    """
    if fixed is not None:
        pairs = zip(groups, fixed, strict=True)
        return tuple(Variance(g.layers, g.parameters, B, C, 0, value) for g, value in pairs)
    places = []
    for group, second_moment in zip(groups, second_moments, strict=True):
        index = best_index(second_moment, group.parameters)
        places.append(Variance(group.layers, group.parameters, B, C, index, variance(index)))
    return tuple(places)


def _exact_variance(place: Variance) -> Any:
    """λ itself: number `index` of the grid, or what a learned prior brought; in `precise`."""
    return variance(exact(place.index)) if place.index else _published(place.value)


def exact_kl(
    groups: Sequence[ExactPrimitives], fixed: Fixed = None
) -> tuple[tuple[Variance, ...], ExactKL]:
    """The prior variances and the KL of Gaussian posteriors."""
    moments = [group.trace + group.distance_sq for group in groups]
    variances = _variances(groups, moments, fixed)
    with precise():
        total = sum(
            gaussian_kl(
                _published(group.trace) + _published(group.distance_sq),
                _published(group.log_det),
                group.parameters,
                _exact_variance(place),
            )
            for group, place in zip(groups, variances, strict=True)
        )
        upper = round_up(total)
    parts = tuple(KLGroup(group.trace, group.distance_sq, group.log_det) for group in groups)
    return variances, ExactKL("exact", upper, parts)


def sampled_kl(
    groups: Sequence[SampledPrimitives],
    samples: int,
    delta: Decimal,
    tail: str,
    fixed: Fixed = None,
) -> tuple[tuple[Variance, ...], MonteCarloKL]:
    """The prior variances and the KL from samples, with both tails.

    A group's limit of its second moment does not depend on its variance, so the variance may be
    chosen after the samples were drawn, at the price of its index alone.
    """
    with precise():
        share = exact(delta) / len(groups)
        limits = {
            "gaussian": [
                gaussian_tail.second_moment_limit(
                    _published(group.mean_square), _published(group.lipschitz), samples, share
                )
                for group in groups
            ],
            "theorem3": [
                theorem3.second_moment_limit(
                    _published(group.mean_square),
                    _published(group.lipschitz),
                    group.parameters,
                    _published(group.offset),
                    samples,
                    share,
                )
                for group in groups
            ],
        }
        variances = _variances(groups, [float(limit) for limit in limits[tail]], fixed)
        tails = {name: _with_tail(groups, variances, moments) for name, moments in limits.items()}
    parts = tuple(
        MonteCarloGroup(group.mean_square, group.lipschitz, group.offset, group.log_det)
        for group in groups
    )
    return variances, MonteCarloKL(
        "monte-carlo",
        tail,
        samples,
        False,
        tails[tail].upper,
        parts,
        tails["gaussian"],
        tails["theorem3"],
    )


def _with_tail(
    groups: Sequence[SampledPrimitives], variances: Sequence[Variance], moments: Sequence[Any]
) -> Tail:
    upper = correction = exact(0)
    for group, place, moment in zip(groups, variances, moments, strict=True):
        value = _exact_variance(place)
        upper += gaussian_kl(moment, _published(group.log_det), group.parameters, value)
        correction += (moment - _published(group.mean_square)) / value / 2
    return Tail(round_up(correction), round_up(upper))


def drawn_ratio(
    groups: Sequence[DrawnPrimitives], fixed: Fixed = None
) -> tuple[tuple[Variance, ...], DrawnRatio]:
    """The prior variances and ln(dq/dp) at the drawn weights, negative or not.

    A union bound over the grid holds for one draw too, so a variance is chosen after it.
    """
    variances = _variances(groups, [group.distance_sq for group in groups], fixed)
    with precise():
        total = sum(
            log_density_ratio(
                _published(group.distance_sq),
                _published(group.noise_sq),
                _published(group.log_det),
                group.parameters,
                _exact_variance(place),
            )
            for group, place in zip(groups, variances, strict=True)
        )
        upper = round_up(total)
    parts = tuple(DrawnGroup(group.distance_sq, group.noise_sq, group.log_det) for group in groups)
    return variances, DrawnRatio("drawn", upper, parts)


def whole_set_risk(errors: int, m: int, weights_sha256: str) -> WholeSetRisk:
    """The risk of one network on all the examples: no limit is needed but that of rounding."""
    with precise():
        upper = min(round_up(exact(Fraction(errors, m))), 1.0)
    return WholeSetRisk("whole-set", errors, weights_sha256, upper)


def per_example_risk(errors: int, draws: int, delta: Decimal) -> PerExampleRisk:
    """The limit from draws of single examples with weights of their own."""
    upper = chernoff.risk_limit(errors, draws, delta)
    return PerExampleRisk("per-example", draws, errors, "chernoff", upper)


def per_weights_risk(
    counts: Sequence[tuple[int, int]], batch: int, delta: Decimal, limit: str
) -> PerWeightsRisk:
    """The limit from draws of whole weights, each on a batch."""
    draws = sum(times for _, times in counts)
    upper = LIMITS[limit](counts, batch, delta)
    return PerWeightsRisk("per-weights", draws, batch, limit, tuple(counts), upper)


def _nats(prior: Prior, kl_upper: float, networks: int = 1) -> Any:
    """The KL or the ratio, and what every choice and trial costs; in the context of `precise`.

    So many networks drawn independently have so many times the KL; the prior is chosen once.
    """
    indices = [place.index for place in prior.variances if place.index]
    indices += [choice.index for choice in prior.choices]
    union = sum((index_cost(exact(index)) for index in indices), exact(prior.trials).log())
    return _published(kl_upper) * networks + union


def drawn_bound(
    m: int,
    prior: Prior,
    ratio_upper: float,
    risk_upper: float,
    delta: Decimal,
    held_out: HeldOut | None,
) -> tuple[Bound, Also]:
    """Complexity and bound of one draw, for which Maurer's inequality alone is proved.

    Where so little is to be paid that the sum is negative, kl(R̂‖R) ≤ 0 says that R is R̂.
    """
    with precise():
        nats = _nats(prior, ratio_upper)
        complexity = max(round_up(maurer.complexity(nats, exact(m), exact(delta))), 0.0)
    value = bernoulli_kl_inverse(risk_upper, complexity)
    return Bound("maurer", complexity, value), Also(None, None, None, None, held_out)


def bound(
    m: int,
    prior: Prior,
    kl_upper: float,
    risk_upper: float,
    delta: Decimal,
    inequality: str,
    held_out: HeldOut | None,
) -> tuple[Bound, Also]:
    """Complexity and bound, and what other inequalities would give."""
    with precise():
        nats, risk, share = _nats(prior, kl_upper), _published(risk_upper), exact(delta)
        complexities = {
            name: round_up(formula(nats, exact(m), share)) for name, formula in INEQUALITIES.items()
        }
        k = catoni.best_index(risk_upper, float(nats), m, float(delta))
        with_beta = nats + index_cost(exact(k))
        catoni_value = catoni.bound(risk, with_beta, exact(m), share, catoni.grid_beta(exact(k)))
        pinsker_value = pinsker.bound(risk, nats, exact(m), share)
        values = {name: bernoulli_kl_inverse(risk_upper, c) for name, c in complexities.items()}
        also = Also(
            mcallester=values["mcallester"],
            maurer=values["maurer"],
            pinsker=round_up(pinsker_value),
            catoni=Catoni(k, round_up(catoni_value)),
            held_out=held_out,
        )
    return Bound(inequality, complexities[inequality], values[inequality]), also


def vote_bound(
    m: int,
    prior: Prior,
    kl_upper: float,
    risk_upper: float,
    delta: Decimal,
    inequality: str,
    predictor: str,
) -> tuple[Bound, Also]:
    """The bound on the risk of one network or of pairs, from which that of their vote follows."""
    with precise():
        nats = _nats(prior, kl_upper, checker.FACTORS[predictor][1])
        complexity = round_up(INEQUALITIES[inequality](nats, exact(m), exact(delta)))
    value = bernoulli_kl_inverse(risk_upper, complexity)
    return Bound(inequality, complexity, value), Also(None, None, None, None, None)


def claimed(predictor: str, value: float) -> float:
    """The claim that a bound's value gives: for a vote a multiple of it."""
    with precise():
        return min(round_up(_published(value) * checker.FACTORS[predictor][0]), 1.0)


def held_out_limit(errors: int, n: int, delta: Decimal) -> HeldOut:
    """The binomial bound from a test set of which every example was judged once."""
    return HeldOut(n, errors, binomial.upper_limit(errors, n, delta))
