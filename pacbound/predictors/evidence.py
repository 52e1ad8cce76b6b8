"""From sums over weights to a certificate's evidence: prior variances and the divergence."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pacbound.bounds.density_ratio import log_density_ratio
from pacbound.bounds.figures import decimal_down, decimal_up, nats_up
from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.rounding import exact, precise
from pacbound.bounds.tails import TAILS
from pacbound.certificate.format import Evidence, Group, Variance
from pacbound.priors.variances import Fixed, prior_variance, prior_variances

if TYPE_CHECKING:
    from pacbound.predictors.divergence import ExactPrimitives, SampledPrimitives
    from pacbound.predictors.drawing import DrawnPrimitives

__all__ = ["drawn", "exact_kl", "sampled_kl", "tail_nats"]


def exact_kl(
    primitives: Sequence[ExactPrimitives], fixed: Fixed = None
) -> tuple[tuple[Variance, ...], Evidence]:
    """The prior variances and the KL of Gaussian posteriors."""
    groups = tuple(
        Group(
            trace=decimal_up(part.trace),
            distance_sq=decimal_up(part.distance_sq),
            log_det=decimal_down(part.log_det),
        )
        for part in primitives
    )
    moments = [group.trace + group.distance_sq for group in groups]  # type: ignore[operator]
    variances = prior_variances(primitives, moments, fixed)
    with precise():
        total = sum(
            gaussian_kl(
                exact(group.trace) + exact(group.distance_sq),  # type: ignore[arg-type]
                exact(group.log_det),
                place.parameters,
                prior_variance(place),
            )
            for group, place in zip(groups, variances, strict=True)
        )
        return variances, Evidence(kind="exact", groups=groups, nats=nats_up(total))


def drawn(
    primitives: Sequence[DrawnPrimitives], weights_sha256: str, fixed: Fixed = None
) -> tuple[tuple[Variance, ...], Evidence]:
    """The prior variances and ln(dq/dp) at the drawn weights, which may be negative.

    A union bound over the grid also holds for one draw, so a variance may be chosen after it.
    """
    groups = tuple(
        Group(
            distance_sq=decimal_up(part.distance_sq),
            noise_sq=decimal_down(part.noise_sq),
            log_det=decimal_down(part.log_det),
        )
        for part in primitives
    )
    moments = [group.distance_sq or Decimal(0) for group in groups]
    variances = prior_variances(primitives, moments, fixed)
    with precise():
        total = sum(
            log_density_ratio(
                exact(group.distance_sq),  # type: ignore[arg-type]
                exact(group.noise_sq),  # type: ignore[arg-type]
                exact(group.log_det),
                place.parameters,
                prior_variance(place),
            )
            for group, place in zip(groups, variances, strict=True)
        )
        nats = nats_up(total)
    evidence = Evidence(kind="drawn", weights_sha256=weights_sha256, groups=groups, nats=nats)
    return variances, evidence


def sampled_kl(
    primitives: Sequence[SampledPrimitives],
    samples: int,
    delta: Decimal,
    factor: Any,
    tail: str,
    fixed: Fixed = None,
) -> tuple[tuple[Variance, ...], Evidence]:
    """The prior variances and the KL from samples.

    The limit of a group's second moment does not depend on its prior variance. So the variance may
    be chosen after the samples were drawn, at the price of its index alone.

    Arguments:
        factor: The factor F by which available certificates divide δ; an interval.
    """
    groups = tuple(
        Group(
            mean_square=decimal_up(part.mean_square),
            lipschitz=decimal_up(part.lipschitz),
            offset=decimal_up(part.offset),
            log_det=decimal_down(part.log_det),
        )
        for part in primitives
    )
    sizes = [part.parameters for part in primitives]
    with precise():
        limits = _limits(groups, sizes, samples, delta, factor, tail)
        moments = [Decimal(repr(float(limit))) for limit in limits]
        variances = prior_variances(primitives, moments, fixed)
        nats = nats_up(_at(limits, groups, variances))
    evidence = Evidence(
        kind="monte-carlo", delta_kl=delta, tail=tail, samples=samples, groups=groups, nats=nats
    )
    return variances, evidence


def tail_nats(evidence: Evidence, variances: Sequence[Variance], factor: Any, tail: str) -> Decimal:
    """The sampled KL with the chosen tail bound."""
    assert evidence.samples is not None and evidence.delta_kl is not None
    sizes = [place.parameters for place in variances]
    with precise():
        limits = _limits(evidence.groups, sizes, evidence.samples, evidence.delta_kl, factor, tail)
        return nats_up(_at(limits, evidence.groups, variances))


def _limits(
    groups: Sequence[Group],
    sizes: Sequence[int],
    samples: int,
    delta: Decimal,
    factor: Any,
    tail: str,
) -> list[Any]:
    """The upper limits of the second moments of all groups, each with an equal share of δ."""
    share = exact(delta) / (factor * len(groups))
    count = exact(samples)
    return [
        TAILS[tail](
            exact(group.mean_square),  # type: ignore[arg-type]
            exact(group.lipschitz),  # type: ignore[arg-type]
            size,
            exact(group.offset),  # type: ignore[arg-type]
            count,
            share,
        )
        for group, size in zip(groups, sizes, strict=True)
    ]


def _at(limits: Sequence[Any], groups: Sequence[Group], variances: Sequence[Variance]) -> Any:
    return sum(
        gaussian_kl(limit, exact(group.log_det), place.parameters, prior_variance(place))
        for limit, group, place in zip(limits, groups, variances, strict=True)
    )
