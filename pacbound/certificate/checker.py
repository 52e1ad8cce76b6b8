#!/usr/bin/env python3
"""Check pacbound risk certificates. Standard library only: copy this file anywhere and run it.

Numbers are read as decimals and each step of the claim is recomputed in 50-digit intervals rounded
outward. Nothing is searched for: a claimed limit p is accepted when one evaluation shows kl(risk‖p)
to be at least the complexity. What no certificate can prove is that its counts, sums and digests
are those of the data and the checkpoint that it names: certifying again shows that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partialmethod
from typing import Any, NamedTuple, TypeAlias

__all__ = ["CHOICES", "FACTORS", "FIELDS", "FORMAT", "PREFERRED_WIDTHS", "VARIANTS", "Verdict"]
__all__ += ["check", "check_file", "choice", "main", "prior_part", "required_choices", "sentence"]

Number: TypeAlias = Decimal | int
FORMAT = "pacbound-certificate/1"
MAX_BYTES, MAX_DIGITS, MAX_EXPONENT, MAX_COUNT = 4 * 2**20, 60, 400, 10**15
MAX_ENTRIES, MAX_PAIRS, MAX_ERRORS, MAX_EXAMPLES = 1000, 10_000, 500_000, 10**6
GRID_B, GRID_C = 100, Decimal("0.1")  # a prior variance is c·exp(−j/b), j = 1, 2, …

# Whatever about a prior could be chosen by looking at the data comes from a declared list, and its
# k-th entry costs 2 ln k + ln(π²/6) nats. Lists only ever grow at the end. Seeds and a depth are
# any integer from 0; a width is any positive integer, the preferred ones coming first.
CHOICES: dict[str, tuple[str | float, ...]] = {
    "network": ("mlp", "lenet", "vgg", "module"),
    "initializer": ("fan-in-uniform", "he-normal", "xavier-uniform", "orthogonal", "zeros"),
    "input_scale": (1, 2, 1.5, 0.5, 3, 4, 0.25, 8),
    "smoothing": (0, 1, 2, 0.5, 1.5, 3, 0.75, 1.25),  # kernel length in pixels; 0: isotropic
    "alignment": ("none", "deskew"),  # a fixed map of each image by itself
    "hidden_bias": (0, -1, -2, -3, -4, -6, -8, -0.5),  # added in the centre, hidden dense layers
    "variance_groups": ("layer", "network"),
    "prior_fraction": (0.5, 0.7, 0.6, 0.8, 0.4, 0.9, 0.3, 0.2),  # of a prior that learned
}
PREFERRED_WIDTHS = (600, 200, 300, 100, 400, 800, 1000, 1200, 50, 500, 20, 30, 10)

# A vote errs only where half of the networks do: at most twice as often as one, and four times as
# often as two independent ones do at once, which is a risk of pairs, whose KL is twice the KL.
FACTORS = {"gibbs": (1, 1), "draw": (1, 1), "vote-gibbs": (2, 1), "vote-tandem": (4, 2)}
NEW = "on new data from the same distribution"
SUBJECTS = {  # of a claim
    "gibbs": f"the randomised predictor (fresh weights for every prediction) {NEW}",
    "vote": f"the majority vote of all networks, weighted by the posterior, {NEW},",
    "draw": f"the one network that was drawn from the posterior, {NEW},",
}

# The fields of each object: exactly these, each of a kind in _is, one of some texts, or an object
# of FIELDS, by default that of its own name. T[] is an array of T, and T? may be null.
FIELDS = {
    "certificate": f"format:{FORMAT} claim budget data model prior kl risk bound also seeds made",
    "claim": "risk_bound:[0,1] delta:(0,1) loss:zero-one "
    "predictor:gibbs|draw|vote-gibbs|vote-tandem sentence:text",
    "budget": "pac_bayes:(0,1) risk:[0,1] kl:[0,1]",
    "data": "name:text m:int>=8 classes:int>=2 sha256:digest",
    "model": "recipe:text posterior:diag|k-diag|k-linear|k-nonlinear parameters:int>0 "
    "checkpoint_sha256:digest",
    "prior": "center variances:variance[] choices:choice[] trials:int>0",
    "center=initialization": "kind:initialization initializer:text seed:int>=0 sha256:digest",
    "center=learned": "kind:learned examples:int>0 learned_from:int>0 split_seed:int>=0 "
    "split_sha256:digest examples_sha256:digest errors:int>=0 training:any-object sha256:digest",
    "variance": "layers:text[] parameters:int>0 b:real>0 c:real>0 index:int>=0 value:real>0",
    "choice": "name:text index:int>0 value:text-or-real",
    "kl=exact": "method:exact upper:real>=0 groups:moments[]",
    "moments": "trace:real>0 distance_sq:real>=0 log_det:real",
    "kl=monte-carlo": "method:monte-carlo tail:gaussian|theorem3 samples:int>0 shared:bool "
    "upper:real>=0 groups:sampled[] gaussian:tail theorem3:tail",
    "sampled": "mean_square:real>0 lipschitz:real>0 offset:real>=0 log_det:real",
    "tail": "correction:real>=0 upper:real>=0",
    "kl=drawn": "method:drawn upper:real groups:density[]",
    "density": "distance_sq:real>0 noise_sq:real>=0 log_det:real",
    "risk=per-example": "sampler:per-example draws:int>0 errors:int>=0 limit:chernoff upper:[0,1]",
    "risk=per-weights": "sampler:per-weights draws:int>0 batch:int>0 limit:betting|chernoff "
    "counts:errors-and-times[] upper:[0,1]",
    "risk=whole-set": "sampler:whole-set errors:int>=0 weights_sha256:digest upper:[0,1]",
    "bound": "inequality:mcallester|maurer complexity:real>=0 value:[0,1]",
    "also": "mcallester:[0,1]? maurer:[0,1]? pinsker:real>=0? catoni:catoni? held_out:held_out?",
    "catoni": "beta_index:int>0 value:real>=0",
    "held_out": "n:int>0 errors:int>=0 upper:[0,1]",
    "seeds": "derivation:text risk:digest kl:digest?",
    "made": "pacbound:text python:text torch:text date:text training_command:text "
    "training_seconds:real>=0? command:text seconds:real>=0 settings:any-object",
}
VARIANTS = {"kl": "method", "risk": "sampler", "center": "kind"}  # what selects other fields


class Rejected(ValueError):
    """The certificate does not hold; the message says why."""


class Record(dict[str, Any]):
    """An object of JSON, whose fields are attributes too."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Rejected(message)


def _at_least(name: str, claimed: Number, implied: Number) -> None:
    _require(claimed >= implied, f"{name} is {claimed}, less than the {Decimal(implied):.17g} due")


def _parse(text: str) -> Number:
    number = Decimal(text if len(text) <= MAX_DIGITS else "NaN")
    fits = number.is_finite() and abs(number.adjusted()) <= MAX_EXPONENT
    _require(fits, f"{text[:20]} is not a number, too long or out of range")
    return number if "." in text or "e" in text.lower() else int(text)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> Record:
    fields = Record(pairs)
    _require(len(fields) == len(pairs), f"a field appears twice in {', '.join(fields)[:100]}")
    return fields


READER = json.JSONDecoder(
    object_pairs_hook=_no_duplicates, parse_int=_parse, parse_float=_parse, parse_constant=_parse
)


def _is(kind: str, value: Any) -> bool:
    text, real = isinstance(value, str), type(value) in (int, Decimal)  # a bool is no number here
    count, pair = type(value) is int and value <= MAX_COUNT, type(value) is list and len(value) == 2
    kinds = {"text": text, "text-or-real": text or real, "any-object": isinstance(value, dict)}
    kinds |= {"real": real, "real>0": real and value > 0, "int>0": count and value > 0}
    kinds |= {"real>=0": real and value >= 0, "[0,1]": real and 0 <= value <= 1}
    kinds |= {"(0,1)": real and 0 < value < 1, "bool": type(value) is bool}
    kinds |= {f"int>={least}": count and value >= least for least in (0, 2, 8)}
    kinds |= {"digest": text and re.fullmatch("[0-9a-f]{64}", value) is not None}
    kinds |= {"errors-and-times": pair and _is("int>=0", value[0]) and _is("int>0", value[1])}
    return kinds[kind] if kind in kinds else text and value in kind.split("|")


def _check_shape(kind: str, value: Any, at: str) -> None:
    """Reject what is not of its kind, and an object that has not exactly the fields of its own."""
    if kind.endswith("[]"):
        most = MAX_PAIRS if kind == "errors-and-times[]" else MAX_ENTRIES
        fits = isinstance(value, list) and 0 < len(value) <= most
        _require(fits, f"{at} must be an array of 1 to {most} entries")
        for position, item in enumerate(value):
            _check_shape(kind[:-2], item, f"{at}[{position}]")
    elif kind in VARIANTS or kind in FIELDS:
        _require(isinstance(value, dict), f"{at or 'a certificate'} must be an object")
        variant = f"{kind}={value.get(VARIANTS[kind])}" if kind in VARIANTS else kind
        _require(variant in FIELDS, f"{variant[:50]} is not known")
        split = (field.partition(":") for field in FIELDS[variant].split())
        fields = {name: inner or name for name, _, inner in split}
        for name in [*fields, *value]:
            inside = f"{at}.{name[:50]}".lstrip(".")
            _require(name in value, f"the field {inside} is missing")
            _require(name in fields, f"the field {inside} is unknown")
            if value[name] is not None or not fields[name].endswith("?"):
                _check_shape(fields[name].removesuffix("?"), value[name], inside)
    else:
        _require(_is(kind, value), f"{at} must be {kind}")


DOWN, UP = (Context(50, x, MIN_EMIN, MAX_EMAX) for x in (ROUND_FLOOR, ROUND_CEILING))


class Interval:
    """All numbers from lo to hi. Each operation encloses its exact result."""

    def __init__(self, lo: Number, hi: Number | None = None) -> None:
        self.lo, self.hi = Decimal(lo), Decimal(lo if hi is None else hi)

    def _hull(self, operation: str, other: Interval | Number) -> Interval:
        other = other if isinstance(other, Interval) else Interval(other)
        if operation == "divide" and other.lo <= 0:
            raise ZeroDivisionError
        ends = [(x, y) for x in (self.lo, self.hi) for y in (other.lo, other.hi)]
        lo = min(getattr(DOWN, operation)(x, y) for x, y in ends)
        return Interval(lo, max(getattr(UP, operation)(x, y) for x, y in ends))

    def _widened(self, function: str) -> Interval:
        # decimal rounds these to nearest whatever the context says: one unit more on each side
        lo, hi = getattr(DOWN, function)(self.lo), getattr(UP, function)(self.hi)
        return Interval(DOWN.next_minus(lo), UP.next_plus(hi))

    __add__, __sub__ = partialmethod(_hull, "add"), partialmethod(_hull, "subtract")
    __mul__, __truediv__ = partialmethod(_hull, "multiply"), partialmethod(_hull, "divide")
    ln, exp = partialmethod(_widened, "ln"), partialmethod(_widened, "exp")
    sqrt = partialmethod(_widened, "sqrt")


ONE = Interval(1)
PI = Interval(Decimal("3.14159265358979323846264338"), Decimal("3.14159265358979323846264339"))
INEQUALITIES: dict[str, Callable[[Interval, int, Number], Interval]] = {  # nats, m, δ: complexity
    "mcallester": lambda nats, m, delta: (nats + (Interval(m) / delta).ln()) / (m - 1),
    "maurer": lambda nats, m, delta: (nats + (Interval(m).sqrt() * 2 / delta).ln()) / m,
}


def _check_limit(name: str, q: Interval, p: Number, complexity: Number) -> None:
    """That kl(q‖p) is not below the complexity, for p ≥ q; p below q is no limit, and 1 is one."""
    kl = Decimal("Infinity" if p >= 1 else 0 if p == q.hi else "-Infinity")
    if q.hi < p < 1:
        heads = q * (q / p).ln() if q.hi > 0 else Interval(0)
        kl = (heads + (ONE - q) * ((ONE - q) / (ONE - p)).ln()).lo
    _at_least(f"{name} is {p}, whose kl", kl, complexity)


def _index_cost(index: int) -> Interval:
    return Interval(index).ln() * 2 + (PI * PI / 6).ln() if index else Interval(0)


def _binomial_upper(errors: int, n: int, p: Number) -> Decimal:
    """A number that P(Bin(n, p) ≤ errors) is not above."""
    _require(errors <= MAX_ERRORS, f"also.held_out can be checked up to {MAX_ERRORS} errors")
    term = total = ((ONE - p).ln() * n).exp().hi
    odds = (Interval(p) / (ONE - p)).hi
    for count in range(1, errors + 1):
        term = UP.divide(UP.multiply(UP.multiply(term, n - count + 1), odds), count)
        total = UP.add(total, term)
    return total


def choice(name: str, value: Any) -> Record:
    """The entry of prior.choices for a knob; ValueError for a value that is not declared."""
    width = type(value) is int and re.fullmatch(r"width\.[1-9][0-9]?", name) is not None
    declared = PREFERRED_WIDTHS if width else CHOICES.get(name, ())
    printed = [x if isinstance(x, str) else Decimal(str(x)) for x in declared]
    number = Decimal(str(value)) if type(value) is float else value  # no float is the decimal 0.7
    if type(value) is not bool and number in printed:
        index = printed.index(number) + 1
    elif width and value >= 1:
        index = value + sum(preferred > value for preferred in PREFERRED_WIDTHS)
    elif name in ("seed", "depth", "split_seed") and type(value) is int and value >= 0:
        index = value + 1
    else:
        raise Rejected(f"{str(value)[:50]} is not a declared value of {name[:50]}")
    return Record(name=name, index=index, value=value)


def required_choices(depth: int, learned: bool = False) -> list[str]:
    """The names of the knobs of a prior, each to be paid for."""
    network, *others, fraction = CHOICES
    if learned:  # the rest was chosen before the examples that count were looked at, or is a trial
        return [network, "seed", "split_seed", fraction]
    return [network, "seed", *others, "depth", *(f"width.{layer + 1}" for layer in range(depth))]


def prior_part(examples: int, size: int, seed: int) -> tuple[list[int], str]:
    """Which examples a prior learns from: the smallest by digest; and the digest of the places."""
    _require(examples <= MAX_EXAMPLES, f"a split has at most {MAX_EXAMPLES} examples")
    digests = [hashlib.sha256(f"split {seed} {i}".encode()).digest() for i in range(examples)]
    part = sorted(sorted(range(examples), key=digests.__getitem__)[:size])
    return part, hashlib.sha256(" ".join(map(str, part)).encode()).hexdigest()


def _check_prior(c: Record) -> None:
    prior, center, m, learned = c.prior, c.prior.center, c.data.m, c.prior.center.kind == "learned"
    values = {entry.name: entry.value for entry in prior.choices}
    required = required_choices(min(choice("depth", values.get("depth", 0)).value, 100), learned)
    own = [choice(name, values.get(name)) for name in required]
    _require(prior.choices == own, "prior.choices must be each knob once, with its own index")
    layers = [layer for entry in prior.variances for layer in entry.layers]
    _require(len(set(layers)) == len(layers), "prior.variances has a layer twice")
    whole = sum(entry.parameters for entry in prior.variances) == c.model.parameters
    _require(whole, "the parameters of prior.variances do not add up to model.parameters")
    one = len(prior.variances) == 1 or values.get("variance_groups") != "network"
    _require(one, "prior.variances must be one when variance_groups is network")
    _at_least("data.m", m, center.get("errors", 0))
    _require(learned or all(x.index for x in prior.variances), "prior.variances has an index 0")
    said, due = center, {name: values[name] for name in ("seed", "initializer") if not learned}
    if learned:
        size = round(values["prior_fraction"] * center.examples)
        split = prior_part(center.examples, size, values["split_seed"])[1]
        due = values | {"learned_from": size, "examples": size + m, "split_sha256": split}
        said = center.training | center | {"seed": center.training.get("prior_seed")}
    for name in due:
        _require(said.get(name) == due[name], f"prior.center.{name} is not what the rest implies")


def _kl(groups: list[Record], square: str, spread: str | None) -> Interval:
    """Σ ½ [‖w − Θ0‖²/λ − ‖ε‖² + d ln λ] − ln|det|: ln(dq/dp) of a draw; the KL from mean squares.
    Refused are a determinant above (spread/d)^(d/2), which no law has, up to rounding, and what
    only e⁻⁵⁰ of all draws have: ‖ε‖² so far from d (Laurent and Massart 2000, Lemma 1), and dp/dq
    so large (by Markov's inequality: its mean is 1)."""
    total = Interval(0)
    for group in groups:
        d, log_det, index, value = group.parameters, group.log_det, group.index, group.value
        variance = Interval(GRID_C) / (Interval(index) / GRID_B).exp() if index else Interval(value)
        on_grid = (group.b, group.c) == (GRID_B, GRID_C) and abs((variance / value - 1).hi) <= 1e-12
        _require(on_grid, f"prior.variances: {value} is not number {index} of the grid")
        noise_sq, far = group.get("noise_sq", d), (Interval(200) * d).sqrt().hi
        _require(d - far <= noise_sq <= d + far + 100, f"kl.groups: noise_sq is {noise_sq} of {d}")
        rest = (ONE * group[square] / variance - noise_sq + variance.ln() * d) / 2
        rare = rest + _index_cost(index) + 50
        largest = ((ONE * group[spread] / d).ln() / 2 + Decimal("1e-9")) * d if spread else rare
        _require(log_det <= largest.hi, f"kl.groups: log_det is {log_det}, too large for the rest")
        total += rest - log_det
    return total


def _limits(g: Record, samples: int, level: Interval) -> Record:
    """Of T, up to δ, ℓ = ln(1/δ): (√mean_square + L√(2ℓ/K))² + L²/K, and by Theorem 3, corrected,
    mean_square + C(ℓ + √(ℓ² + 8Kℓ))/K with C = (√6·L + (L√d + offset)/√ln 2)²; of a trace: L²d."""
    square, slope, d = Interval(g.mean_square), Interval(g.lipschitz), Interval(g.parameters)
    root = square.sqrt() + slope * (level * 2 / samples).sqrt()
    norm = slope * Interval(6).sqrt() + (slope * d.sqrt() + g.offset) / Interval(2).ln().sqrt()
    excess = (level + (level * level + level * 8 * samples).sqrt()) / samples
    gaussian, theorem3 = root * root + slope * slope / samples, square + norm * norm * excess
    return Record(g, gaussian=gaussian, theorem3=theorem3, trace=slope * slope * d)


def _check_kl(c: Record, networks: int) -> None:
    """The KL at T itself, or at upper limits of T from samples; or the ratio of a draw."""
    kl, entries = c.kl, c.prior.variances
    _require(len(kl.groups) == len(entries), "kl.groups and prior.variances differ in number")
    groups = [Record(x | y) for x, y in zip(entries, kl.groups, strict=True)]
    paid = (c.budget.kl > 0) == (c.seeds.kl is not None) == (kl.method == "monte-carlo")
    _require(paid, "budget.kl and seeds.kl must be 0 and null, but for a KL from samples")
    if kl.method == "drawn":
        implied = _kl(groups, "distance_sq", None).hi
    elif kl.method == "exact":
        _require(c.model.posterior != "k-nonlinear", "kl.method: k-nonlinear has no exact KL")
        groups = [Record(g, moment=Interval(g.trace) + g.distance_sq) for g in groups]
        implied = _kl(groups, "moment", "trace").hi
    else:
        own = c.risk.sampler == "per-weights" and c.risk.draws * networks <= kl.samples
        _require(own or not kl.shared, "kl.shared needs per-weights draws, at most kl.samples")
        # Each group has its share of δ and no limit depends on λ: any λ may be chosen afterwards.
        level = (Interval(len(groups)) / c.budget.kl).ln()
        groups = [_limits(group, kl.samples, level) for group in groups]
        mean = _kl(groups, "mean_square", "trace")
        for tail in ("gaussian", "theorem3"):
            upper = _kl(groups, tail, tail)  # no law of this T has a larger entropy
            _at_least(f"kl.{tail}.upper", kl[tail].upper, upper.hi)
            _at_least(f"kl.{tail}.correction", kl[tail].correction, (upper - mean).hi)
        implied = kl[kl.tail].upper
    _at_least("kl.upper", kl.upper, implied)


def _check_risk(c: Record) -> None:
    """Of n draws X in [0, 1] p is a limit if kl(mean‖p) ≥ ln(1/δ)/n, or if Π(1 + p − X) ≥ 1/δ.
    One network's errors on all examples are no sample: they take no δ, and p ≥ mean is enough."""
    risk, m = c.risk, c.data.m
    if risk.sampler == "per-weights":
        draws, batch, counts = risk.draws, risk.batch, risk.counts
        errors = [error for error, _ in counts]
        rising = errors == sorted(set(errors)) and errors[-1] <= batch <= m
        _require(rising, "risk.counts must have errors that rise to at most risk.batch and data.m")
        _require(sum(times for _, times in counts) == draws, "risk.counts is not risk.draws in all")
    else:
        draws, dense = risk.get("draws", m), choice("network", "mlp") in c.prior.choices
        alone = (dense and c.model.posterior != "k-nonlinear") or risk.sampler == "whole-set"
        _require(alone, "risk.sampler: convolutions and k-nonlinear draw no weights per-example")
        _require(draws % m == 0, "risk.draws must be a multiple of data.m")
        _require(risk.errors <= draws, "risk.errors is larger than risk.draws")
        batch, counts = 1, [(0, draws - risk.errors), (1, risk.errors)]
    level = (ONE / c.budget.risk).ln() if c.budget.risk else Interval(0)
    if risk.get("limit") == "betting" and risk.upper < 1:
        gains = ((ONE - Interval(x) / batch + risk.upper).ln() * times for x, times in counts)
        _at_least(f"risk.upper is {risk.upper}, whose gain", sum(gains, Interval(0)).lo, level.hi)
    else:
        mean = Interval(sum(error * times for error, times in counts)) / batch / draws
        _check_limit("risk.upper", mean, risk.upper, (level / draws).hi)


def _check_also(c: Record, nats: Interval) -> None:
    """The figures beside the claim. Each may be 1 or more, which says nothing."""
    also, m, share, risk = c.also, c.data.m, c.budget.pac_bayes, Interval(c.risk.upper)
    if c.claim.predictor == "gibbs":
        for name, complexity in INEQUALITIES.items():
            _check_limit(f"also.{name}", risk, also[name], complexity(nats, m, share).hi)
        index, beta = also.catoni.beta_index, Interval(also.catoni.beta_index + 10) / 20
        paid = nats + _index_cost(index) + (ONE / share).ln()
        catoni = (beta * paid / m + risk) / (ONE - ONE / (beta * 2))
        pinsker = (INEQUALITIES["mcallester"](nats, m, share) / 2).sqrt() + risk
        _at_least("also.catoni.value", also.catoni.value, min(catoni.hi, ONE.hi))
        _at_least("also.pinsker", also.pinsker, min(pinsker.hi, ONE.hi))
    if also.held_out is not None:
        n, errors, upper = also.held_out.n, also.held_out.errors, also.held_out.upper
        _require(errors <= n, "also.held_out.errors is larger than its n")
        enough = upper == 1 or _binomial_upper(errors, n, upper) <= c.claim.delta
        _require(enough, f"also.held_out.upper is {upper}: too small for its errors, n and delta")


def _check_certificate(c: Record) -> None:
    _check_shape("certificate", c, "")
    spent, delta = sum(map(Fraction, c.budget.values())), Fraction(c.claim.delta)
    _require(spent == delta, f"the budget adds up to {float(spent)} and not to {float(delta)}")
    bound, predictor, (factor, networks) = c.bound, c.claim.predictor, FACTORS[c.claim.predictor]
    draw, gibbs = predictor == "draw", predictor == "gibbs"
    signs = {c.kl.method == "drawn", c.risk.sampler == "whole-set", not c.budget.risk}
    others = {c.also[name] is not None for name in (*INEQUALITIES, "pinsker", "catoni")}
    own = signs == {draw} and others == {gibbs} and (draw or gibbs or c.also.held_out is None)
    _require(own, f"kl, risk, budget.risk and also must be those of claim.predictor {predictor}")
    _require(not draw or bound.inequality == "maurer", "bound.inequality of a draw must be maurer")
    _check_prior(c)
    _check_kl(c, networks)
    _check_risk(c)
    nats = Interval(c.prior.trials).ln() + Interval(c.kl.upper) * networks
    nats = sum((_index_cost(x.index) for x in (*c.prior.variances, *c.prior.choices)), nats)
    complexity = INEQUALITIES[bound.inequality](nats, c.data.m, c.budget.pac_bayes)
    _at_least("bound.complexity", bound.complexity, complexity.hi)
    _check_limit("bound.value", Interval(c.risk.upper), bound.value, bound.complexity)
    _at_least("claim.risk_bound", c.claim.risk_bound, min(UP.multiply(bound.value, factor), ONE.hi))
    _check_also(c, nats)
    _require(c.claim.sentence == sentence(c), "claim.sentence is not what the numbers say")


def sentence(certificate: dict[str, Any]) -> str:
    """The claim in words, the risk rounded up and the confidence down."""
    claim, kind = certificate["claim"], certificate["claim"]["predictor"].partition("-")[0]
    over = f"the {certificate['data']['m']} training examples"
    if certificate["prior"]["center"]["kind"] == "learned":
        over += " that the prior did not learn from"
    over += " and of the network" if kind == "draw" else " and the Monte Carlo draws"
    risk, delta = (UP.multiply(Decimal(str(claim[x])), 100) for x in ("risk_bound", "delta"))
    confidence = f"{(100 - UP.quantize(delta, Decimal('0.0001'))).normalize():f}"
    words = f"With probability at least {confidence} % over the draw of {over}, the {claim['loss']}"
    return f"{words} error of {SUBJECTS[kind]} is at most {UP.quantize(risk, Decimal('0.01'))} %."


class Verdict(NamedTuple):
    """What became of one certificate: accepted, or the reason why not."""

    accepted: bool
    reason: str = ""
    exit_code: int = 0
    risk_bound: Decimal | None = None
    delta: Decimal | None = None
    summary: str = ""

    def line(self, name: str) -> str:
        """One printable line, whatever the certificate and the file's name contain."""
        word, words = ("ok      ", self.summary) if self.accepted else ("REJECTED", self.reason)
        return "".join(x if x.isprintable() else "?" for x in f"{word}  {name}: {words}")


def check(content: str | bytes, max_risk: Decimal = Decimal(1), sha256: str = "") -> Verdict:
    """The verdict on a certificate's text; with `sha256`, on its being for that checkpoint."""
    try:
        if len(content) > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
        c = READER.decode(content.decode() if isinstance(content, bytes) else content)
        json.dumps(c, ensure_ascii=False, default=str).encode()  # no half of a character
        _check_certificate(c)
        risk_bound, delta = Decimal(c.claim.risk_bound), Decimal(c.claim.delta)
        _require(risk_bound <= max_risk, f"its risk bound {risk_bound} is over {max_risk}")
        _require(sha256 in ("", c.model.checkpoint_sha256), "it is for another checkpoint")
    except Rejected as error:
        return Verdict(False, str(error).encode(errors="replace").decode(), 1)
    except (ArithmeticError, RecursionError):
        return Verdict(False, "its numbers are out of range, or it is nested too deep", 1)
    except ValueError as error:  # not JSON, or not UTF-8
        return Verdict(False, f"not JSON: {error}", 2)
    which = {"gibbs": "", "draw": ", one drawn network"}.get(c.claim.predictor, ", vote")
    words = f"{c.data.name[:50]}, m = {c.data.m}, {c.model.posterior}{which}"
    said = c.claim.sentence.split()  # With probability at least x % … is at most y %.
    summary = f"risk ≤ {said[-2]} % with probability ≥ {said[4]} % ({words})"
    return Verdict(True, "", 0, risk_bound, delta, summary)


def check_file(path: str, max_risk: Decimal = Decimal(1), checkpoint: str = "") -> Verdict:
    """The verdict on a file and, with `checkpoint`, on its being for that other file."""
    try:
        if odd := [x for x in (path, checkpoint) if os.path.exists(x) and not os.path.isfile(x)]:
            return Verdict(False, f"{odd[0]} cannot be read: it is not a regular file", 2)
        with open(path, "rb") as stream, open(checkpoint or path, "rb") as other:
            sha256 = hashlib.file_digest(other, "sha256").hexdigest() if checkpoint else ""
            return check(stream.read(MAX_BYTES + 1), max_risk, sha256)
    except OSError as error:
        return Verdict(False, f"{error.filename} cannot be read: {error.strerror}", 2)


def main(argv: Sequence[str] | None = None) -> int:
    """Print one line for each file; 0: all hold, 1: one is rejected, 2: one cannot be read."""
    parser = argparse.ArgumentParser(description="Check pacbound risk certificates.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--max-risk", metavar="X", type=float, default=1.0)
    parser.add_argument("--checkpoint", metavar="CKPT", default="", help="what they must be for")
    options = parser.parse_args(argv)
    if not 0 <= options.max_risk <= 1:
        parser.error("--max-risk must be in [0, 1]")
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # it may lack the sign ≤
    most = Decimal(repr(options.max_risk))
    verdicts = {path: check_file(path, most, options.checkpoint) for path in options.files}
    print(*(verdict.line(path) for path, verdict in verdicts.items()), sep="\n")
    return max(verdict.exit_code for verdict in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
