"""Certificates made from primitives, with every number at its smallest valid value."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

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
from pacbound.bounds.rounding import exact, highest, lowest, precise, round_up
from pacbound.certificate import format as form

DIGEST = "0123456789abcdef" * 4
COMPLEXITIES = {"mcallester": mcallester.complexity, "maurer": maurer.complexity}


@dataclass(frozen=True)
class Primitives:
    """What a certificate is made from; the defaults are those of an MLP on MNIST."""

    m: int = 60_000
    passes: int = 100
    errors: int = 342_000
    pac_bayes: Decimal = Decimal("0.025")
    risk: Decimal = Decimal("0.01")
    kl: Decimal = Decimal(0)
    posterior: str = "k-linear"
    # of each variance group: parameters, trace, squared distance, log-determinant
    groups: tuple[tuple[int, float, float, float], ...] = (
        (471_000, 1500.0, 22.0, -1_354_480.0),
        (6_010, 60.0, 3.0, -13_894.0),
    )
    widths: tuple[int, ...] = (600,)
    network: str = "mlp"
    seed: int = 0
    initializer: str = "fan-in-uniform"
    input_scale: float = 1.0
    smoothing: float = 0.0
    alignment: str = "none"
    hidden_bias: float = 0.0
    trials: int = 1
    inequality: str = "mcallester"
    held_out: tuple[int, int] | None = (577, 10_000)
    # a sampled KL: how many samples, if any; the trace and the distance are then the mean square
    samples: int = 0
    tail: str = "gaussian"
    shared: bool = False
    expansion: float = 1.5  # the Lipschitz constant, of the smallest that the trace allows
    # a risk per weights: the draws that had so many errors in a batch, if there is one
    batch: int = 0
    counts: tuple[tuple[int, int], ...] = ()
    limit: str = "betting"
    # one draw: how far its ‖ε‖² is from d, in standard deviations; the weights go as far
    predictor: str = "gibbs"
    deviation: float = 0.0
    # a learned prior: its part of all the examples, if it is one, and the variances it brings
    fraction: float = 0.0
    split_seed: int = 0
    own: tuple[float, ...] = ()


# A nonlinear posterior, with the same samples for KL and risk.
SAMPLED = Primitives(
    posterior="k-nonlinear",
    risk=Decimal("0.005"),
    kl=Decimal("0.005"),
    samples=10_000,
    shared=True,
    batch=1000,
    counts=((44, 1200), (51, 3300), (57, 4000), (63, 1400), (80, 100)),
)

# One network, with all of delta for the inequality.
DRAWN = Primitives(
    predictor="draw",
    errors=3_420,
    pac_bayes=Decimal("0.035"),
    risk=Decimal(0),
    inequality="maurer",
    deviation=0.7,
)


# A prior that learned from as many examples as are counted, and a posterior close to it; then the
# majority vote of its networks, by pairs.
OWN = (0.003, 0.01)
LEARNED = Primitives(
    m=3000,
    errors=16_000,
    groups=(
        (471_000, 1413.0, 0.3, 235_500 * math.log(OWN[0]) - 5),
        (6_010, 60.1, 0.5, 3_005 * math.log(OWN[1]) - 2),
    ),
    fraction=0.5,
    own=OWN,
    inequality="maurer",
)
VOTE = replace(LEARNED, predictor="vote-tandem", errors=7_000, held_out=None)


def issue(p: Primitives | None = None) -> form.Certificate:
    """The certificate at the exact bound: no number could be smaller."""
    p = p or Primitives()
    with precise():
        indices = [
            0 if p.own else best_index(distance if p.predictor == "draw" else trace + distance, d)
            for d, trace, distance, _ in _drawn_groups(p)
        ]
        kl = _kl(p, indices)
        risk = _risk(p)
        kl_upper, risk_upper = kl.upper, risk.upper
        prior = _prior(p, indices)
        paid = [entry.index for entry in (*prior.variances, *prior.choices)]
        nats = highest(kl_upper) * (2 if p.predictor == "vote-tandem" else 1)
        nats += exact(p.trials).log() + sum(index_cost(exact(index)) for index in paid if index)
        m, share = exact(p.m), exact(p.pac_bayes)
        complexities = {
            name: max(round_up(formula(nats, m, share)), 0.0)
            for name, formula in COMPLEXITIES.items()
        }
        values = {
            name: bernoulli_kl_inverse(risk_upper, complexity)
            for name, complexity in complexities.items()
        }
        if p.predictor != "gibbs":
            also = form.Also(None, None, None, None, _held_out(p))
            return _certificate(p, prior, kl, risk, complexities, values, also)
        beta_index = catoni.best_index(risk_upper, float(nats), p.m, float(p.pac_bayes))
        catoni_value = catoni.bound(
            highest(risk_upper),
            nats + index_cost(exact(beta_index)),
            m,
            share,
            catoni.grid_beta(exact(beta_index)),
        )
        pinsker_value = pinsker.bound(highest(risk_upper), nats, m, share)
        also = form.Also(
            **values,
            pinsker=round_up(pinsker_value),
            catoni=form.Catoni(beta_index, round_up(catoni_value)),
            held_out=_held_out(p),
        )
    return _certificate(p, prior, kl, risk, complexities, values, also)


def _certificate(
    p: Primitives,
    prior: form.Prior,
    kl: Any,
    risk: Any,
    complexities: dict[str, float],
    values: dict[str, float],
    also: form.Also,
) -> form.Certificate:
    value, delta = values[p.inequality], float(p.pac_bayes + p.risk + p.kl)
    times = {"vote-gibbs": 2, "vote-tandem": 4}.get(p.predictor, 1)
    with precise():
        claim = min(round_up(exact(repr(value)) * times), 1.0)
    return form.Certificate(
        claim=form.Claim(claim, delta, predictor=p.predictor),
        budget=form.Budget(float(p.pac_bayes), float(p.risk), float(p.kl)),
        data=form.Data("mnist", p.m, 10, DIGEST),
        model=form.Model("mlp-600", p.posterior, sum(group[0] for group in p.groups), DIGEST),
        prior=prior,
        kl=kl,
        risk=risk,
        bound=form.Bound(p.inequality, complexities[p.inequality], value),
        also=also,
        seeds=form.Seeds(
            "sha256 of the checkpoint, the data and the purpose", DIGEST, DIGEST if p.kl else None
        ),
        made=form.Made(
            "0.1.0",
            "3.11",
            "2.13.0",
            "2026-01-01T00:00:00Z",
            "pacbound train mlp-600 -o mlp.pt",
            45.6,
            "pacbound certify mlp.pt",
            12.3,
            {},
        ),
    ).in_words()


def _kl(p: Primitives, indices: list[int]) -> Any:
    if p.predictor == "draw":
        return _drawn_ratio(p, indices)
    return _sampled_kl(p, indices) if p.samples else _exact_kl(p, indices)


def _values(p: Primitives, indices: list[int]) -> list[Any]:
    """The prior variances: a learned prior's own, or of the grid."""
    return [exact(repr(x)) for x in p.own] or [variance(exact(index)) for index in indices]


def _drawn_groups(p: Primitives) -> list[tuple[int, float, float, float]]:
    """For one draw ‖ε‖² and ‖w − Θ0‖² in the places of the trace and the distance."""
    if p.predictor != "draw":
        return list(p.groups)
    groups = []
    for d, trace, distance, log_det in p.groups:
        noise_sq = max(d + p.deviation * math.sqrt(2 * d), 0.01)
        groups.append((d, noise_sq, trace * noise_sq / d + distance, log_det))
    return groups


def _drawn_ratio(p: Primitives, indices: list[int]) -> form.DrawnRatio:
    groups = _drawn_groups(p)
    upper = round_up(
        sum(
            log_density_ratio(highest(distance), lowest(noise), lowest(log_det), d, value)
            for (d, noise, distance, log_det), value in zip(
                groups, _values(p, indices), strict=True
            )
        )
    )
    parts = (form.DrawnGroup(distance, noise, log_det) for _, noise, distance, log_det in groups)
    return form.DrawnRatio("drawn", upper, tuple(parts))


def _exact_kl(p: Primitives, indices: list[int]) -> form.ExactKL:
    upper = round_up(
        sum(
            gaussian_kl(highest(trace) + highest(distance), lowest(log_det), d, value)
            for (d, trace, distance, log_det), value in zip(
                p.groups, _values(p, indices), strict=True
            )
        )
    )
    return form.ExactKL("exact", upper, tuple(form.KLGroup(*group[1:]) for group in p.groups))


def _sampled_kl(p: Primitives, indices: list[int]) -> form.MonteCarloKL:
    groups, share = [], exact(p.kl) / len(p.groups)
    upper = dict.fromkeys(("gaussian", "theorem3"), exact(0))
    correction = dict(upper)
    values = _values(p, indices)
    for (d, trace, distance, log_det), prior_variance in zip(p.groups, values, strict=True):
        lipschitz, offset = p.expansion * math.sqrt(trace / d), math.sqrt(distance)
        groups.append(form.MonteCarloGroup(trace + distance, lipschitz, offset, log_det))
        mean_square, constant, start = (
            exact(repr(x)) for x in (trace + distance, lipschitz, offset)
        )
        limits = {
            "gaussian": gaussian_tail.second_moment_limit(mean_square, constant, p.samples, share),
            "theorem3": theorem3.second_moment_limit(
                mean_square, constant, d, start, p.samples, share
            ),
        }
        for name, limit in limits.items():
            upper[name] += gaussian_kl(limit, exact(repr(log_det)), d, prior_variance)
            correction[name] += (limit - mean_square) / prior_variance / 2
    tails = {name: form.Tail(round_up(correction[name]), round_up(upper[name])) for name in upper}
    chosen = tails[p.tail].upper
    return form.MonteCarloKL(
        "monte-carlo", p.tail, p.samples, p.shared, chosen, tuple(groups), **tails
    )


def _risk(p: Primitives) -> form.PerExampleRisk | form.PerWeightsRisk | form.WholeSetRisk:
    if p.predictor == "draw":
        upper = min(round_up(exact(Fraction(p.errors, p.m))), 1.0)
        return form.WholeSetRisk("whole-set", p.errors, DIGEST, upper)
    if not p.batch:
        draws = p.m * p.passes
        upper = chernoff.risk_limit(p.errors, draws, p.risk)
        return form.PerExampleRisk("per-example", draws, p.errors, "chernoff", upper)
    draws = sum(times for _, times in p.counts)
    limit = betting.risk_limit if p.limit == "betting" else chernoff.mean_limit
    upper = limit(p.counts, p.batch, p.risk)
    return form.PerWeightsRisk("per-weights", draws, p.batch, p.limit, p.counts, upper)


def _prior(p: Primitives, indices: list[int]) -> form.Prior:
    knobs: dict[str, Any] = {
        "network": p.network,
        "seed": p.seed,
        "initializer": p.initializer,
        "input_scale": p.input_scale,
        "smoothing": p.smoothing,
        "alignment": p.alignment,
        "hidden_bias": p.hidden_bias,
        "variance_groups": "network" if len(p.groups) == 1 else "layer",
        "depth": len(p.widths),
        **{f"width.{layer}": width for layer, width in enumerate(p.widths, 1)},
    }
    center: form.Center | form.LearnedCenter
    center = form.Center("initialization", p.initializer, p.seed, DIGEST)
    if p.fraction:
        center = _learned(p)
        knobs = {"network": p.network, "seed": p.seed, "split_seed": p.split_seed}
        knobs |= {"prior_fraction": p.fraction}
    return form.Prior(
        center,
        tuple(
            form.Variance((str(layer),), group[0], B, C, index, own or variance(index))
            for layer, (group, index, own) in enumerate(
                zip(p.groups, indices, p.own or [0.0] * len(p.groups), strict=True)
            )
        ),
        tuple(form.Choice.of(name, value) for name, value in knobs.items()),
        p.trials,
    )


def _learned(p: Primitives) -> form.LearnedCenter:
    """The centre of a prior that learned from all examples but the m that are counted."""
    part = Fraction(str(p.fraction))
    examples = next(n for n in range(p.m + 1, 20 * p.m) if n - round(part * n) == p.m)
    size = examples - p.m
    by_digest = sorted(
        range(examples), key=lambda i: hashlib.sha256(f"split {p.split_seed} {i}".encode()).digest()
    )
    places = " ".join(map(str, sorted(by_digest[:size])))
    return form.LearnedCenter(
        kind="learned",
        examples=examples,
        learned_from=size,
        split_seed=p.split_seed,
        split_sha256=hashlib.sha256(places.encode()).hexdigest(),
        examples_sha256=DIGEST,
        errors=min(70, p.m),
        training={
            "network": p.network,
            "prior_seed": p.seed,
            "prior_fraction": p.fraction,
            "split_seed": p.split_seed,
            "prior_epochs": 20,
        },
        sha256=DIGEST,
    )


def _held_out(p: Primitives) -> form.HeldOut | None:
    if p.held_out is None:
        return None
    errors, n = p.held_out
    return form.HeldOut(n, errors, binomial.upper_limit(errors, n, p.pac_bayes + p.risk + p.kl))
