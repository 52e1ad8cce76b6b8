"""What a certificate's own primitives imply, computed from the theorems and not by the checker.

Written from the formulas alone, in ball arithmetic of 250 bits: a flaw is reported only where a
number is certainly too good. Of the checker only its lists of declared values are taken.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, ctx, fmpq

from pacbound.certificate.checker import CHOICES, PREFERRED_WIDTHS

__all__ = ["flaws", "implied_complexity", "implied_kl", "read"]

BITS = 250
TIMES = {"gibbs": 1, "draw": 1, "vote-gibbs": 2, "vote-tandem": 4}


def read(text: str | bytes) -> Any:
    """JSON with exact numbers; ValueError for what is not one certificate's worth of it."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            raise ValueError("a field appears twice")
        return fields

    def no_number(name: str) -> Any:
        raise ValueError(f"{name} is no number")

    def number(digits: str) -> Fraction:
        exponent = digits.lower().partition("e")[2]
        if len(digits) > 100 or abs(int(exponent or 0)) > 1000:
            raise ValueError("too long a number")
        return Fraction(digits)

    return json.loads(text, parse_float=number, parse_constant=no_number, object_pairs_hook=once)


def ball(x: Any) -> arb:
    """An exact number as a ball around it."""
    if isinstance(x, arb):
        return x
    x = Fraction(x)
    return arb(fmpq(x.numerator, x.denominator))


def flaws(text: str | bytes) -> list[str]:
    """Every way in which the claim is better than what its primitives imply."""
    before, ctx.prec = ctx.prec, BITS
    try:
        return list(_flaws(read(text)))
    finally:
        ctx.prec = before


def _flaws(c: dict[str, Any]) -> Iterator[str]:
    claim, budget, m = c["claim"], c["budget"], c["data"]["m"]
    predictor, risk, bound = claim["predictor"], c["risk"], c["bound"]
    if c["format"] != "pacbound-certificate/1" or claim["loss"] != "zero-one":
        yield "another format or loss"
    if sum(Fraction(x) for x in budget.values()) > claim["delta"]:
        yield "the budget is larger than delta"
    if not 0 < budget["pac_bayes"] < 1 or min(budget.values()) < 0 or m < 8:
        yield "a share of delta is not one, or m is below 8"
    yield from _flaws_of_words(c)
    yield from _flaws_of_prior(c)
    yield from _flaws_of_kl(c)
    yield from _flaws_of_risk(c)
    if predictor == "draw" and bound["inequality"] != "maurer":
        yield "one draw by another inequality than Maurer's"
    complexity = implied_complexity(c, implied_kl(c))
    if ball(bound["complexity"]) < implied_complexity(c, ball(c["kl"]["upper"])):
        yield "bound.complexity is too small for kl.upper"
    yield from _limit("bound.value", risk["upper"], bound["value"], ball(bound["complexity"]))
    due = min(Fraction(bound["value"]) * TIMES[predictor], Fraction(1))
    if claim["risk_bound"] < due:
        yield "claim.risk_bound is less than its bound"
    if claim["risk_bound"] < 1:  # and the whole chain at once, past every figure in between
        alone = Fraction(claim["risk_bound"]) / TIMES[predictor]
        yield from _limit("claim.risk_bound", risk["upper"], alone, complexity)
    yield from _flaws_beside(c)


def _flaws_of_words(c: dict[str, Any]) -> Iterator[str]:
    claim, words = c["claim"], c["claim"]["sentence"]
    said = re.fullmatch(
        r"With probability at least ([0-9.]+) % over .* is at most ([0-9.]+) %\.", words
    )
    if said is None:
        yield "the sentence does not say how much"
        return
    if Fraction(said[1]) > 100 * (1 - Fraction(claim["delta"])):
        yield "the sentence is more confident than delta"
    if Fraction(said[2]) < 100 * Fraction(claim["risk_bound"]):
        yield "the sentence says less than the risk bound"
    if f" {c['data']['m']} training examples" not in words:
        yield "the sentence has another m"
    learned = c["prior"]["center"]["kind"] == "learned"
    if learned != ("that the prior did not learn from" in words):
        yield "the sentence is silent about what the prior learned from, or invents it"
    kinds = {"gibbs": "randomised predictor", "draw": "one network", "vote": "majority vote"}
    for kind, subject in kinds.items():
        if (subject in words) != (claim["predictor"].split("-")[0] == kind):
            yield "the sentence speaks of another predictor"


def _index(name: str, value: Any) -> int | None:
    """The place of a declared value, from 1; None for what is not declared."""
    if isinstance(value, bool):
        return None
    if name in CHOICES:
        for place, declared in enumerate(CHOICES[name], 1):
            if isinstance(declared, str):
                same = value == declared
            else:
                same = not isinstance(value, str) and Fraction(value) == Fraction(str(declared))
            if same:
                return place
        return None
    if type(value) is not int:
        return None
    if name in ("seed", "depth", "split_seed"):
        return value + 1 if value >= 0 else None
    if value in PREFERRED_WIDTHS:
        return PREFERRED_WIDTHS.index(value) + 1
    before = sum(preferred < value for preferred in PREFERRED_WIDTHS)
    return len(PREFERRED_WIDTHS) + value - before if value > 0 else None


def _flaws_of_prior(c: dict[str, Any]) -> Iterator[str]:
    prior, m = c["prior"], c["data"]["m"]
    center, learned = prior["center"], prior["center"]["kind"] == "learned"
    values = {entry["name"]: entry["value"] for entry in prior["choices"]}
    needed = {"network", "seed"} | ({"split_seed", "prior_fraction"} if learned else set())
    if not learned:
        needed |= {"initializer", "input_scale", "smoothing", "alignment", "hidden_bias"}
        needed |= {"variance_groups", "depth"}
        needed |= {f"width.{layer + 1}" for layer in range(values.get("depth", 0))}
    if set(values) != needed or len(values) != len(prior["choices"]):
        yield "a choice is missing, twice there, or none"
    for entry in prior["choices"]:
        if entry["index"] != _index(entry["name"], entry["value"]):
            yield f"{entry['name']} is not at its own place"
    if prior["trials"] < 1 or type(prior["trials"]) is not int:
        yield "trials is no count"
    if sum(entry["parameters"] for entry in prior["variances"]) != c["model"]["parameters"]:
        yield "the groups do not add up to the network"
    names = [layer for entry in prior["variances"] for layer in entry["layers"]]
    if len(names) != len(set(names)):
        yield "a layer is in two groups"
    if values.get("variance_groups") == "network" and len(prior["variances"]) > 1:
        yield "one variance was paid for, and several are there"
    if any(entry["index"] < (0 if learned else 1) for entry in prior["variances"]):
        yield "a variance that nothing was paid for"
    if not learned:
        if any(center[name] != values[name] for name in ("seed", "initializer")):
            yield "the centre is another one than was paid for"
        return
    size = round(Fraction(values["prior_fraction"]) * center["examples"])
    if center["examples"] != size + m or center["learned_from"] != size:
        yield "examples that the prior learned from are counted"
    if center["split_sha256"] != _split(center["examples"], size, values["split_seed"]):
        yield "the split is another one than was paid for"
    told = center["training"]
    same = told.get("prior_seed") == values["seed"] and told.get("network") == values["network"]
    if not same or center["split_seed"] != values["split_seed"]:
        yield "the prior was trained otherwise than was paid for"


@lru_cache(maxsize=64)
def _split(examples: int, size: int, seed: int) -> str:
    """The digest of the places of the examples with the smallest digests."""
    order = sorted(
        (hashlib.sha256(b"split %d %d" % (seed, i)).digest(), i) for i in range(examples)
    )
    places = sorted(i for _, i in order[:size])
    return hashlib.sha256(" ".join(str(i) for i in places).encode()).hexdigest()


def _variance(entry: dict[str, Any]) -> arb:
    """λ: c·exp(−j/b) with b = 100 and c = 0.1 at index j, or a learned prior's own."""
    j = entry["index"]
    return (ball(-j) / 100).exp() / 10 if j else ball(entry["value"])


def _tail(c: dict[str, Any], d: int, group: dict[str, Any], tail: str) -> arb:
    """The upper limit of E‖W − Θ0‖² from samples, with a share of δ for each group."""
    samples, slope = ball(c["kl"]["samples"]), ball(group["lipschitz"])
    level = (ball(len(c["kl"]["groups"])) / ball(c["budget"]["kl"])).log()
    square = ball(group["mean_square"])
    if tail == "gaussian":
        root = square.sqrt() + slope * (2 * level / samples).sqrt()
        return root * root + slope * slope / samples
    norm = arb(6).sqrt() * slope + (slope * arb(d).sqrt() + ball(group["offset"])) / (
        arb(2).log().sqrt()
    )
    spread = level + (level * level + 8 * samples * level).sqrt()
    return square + norm * norm * spread / samples


def implied_kl(c: dict[str, Any], tail: str = "") -> arb:
    """½ [T/λ − d + d ln λ] − ln|det| over the groups; for one draw ‖ε‖² in the place of d."""
    kl, total = c["kl"], arb(0)
    for entry, group in zip(c["prior"]["variances"], kl["groups"], strict=True):
        d, variance = entry["parameters"], _variance(entry)
        square, noise = ball(group.get("distance_sq", 0)), ball(d)
        if kl["method"] == "exact":
            square += ball(group["trace"])
        elif kl["method"] == "drawn":
            noise = ball(group["noise_sq"])
        else:
            square = _tail(c, d, group, tail or kl["tail"])
        total += (square / variance - noise + d * variance.log()) / 2 - ball(group["log_det"])
    return total


def implied_complexity(c: dict[str, Any], kl: arb) -> arb:
    """The right-hand side of the inequality, with the price of every choice."""
    m, prior = c["data"]["m"], c["prior"]
    paid = [entry["index"] for entry in (*prior["variances"], *prior["choices"])]
    nats = kl * (2 if c["claim"]["predictor"] == "vote-tandem" else 1) + arb(prior["trials"]).log()
    nats += sum((2 * arb(k).log() + (arb.pi() ** 2 / 6).log() for k in paid if k), arb(0))
    delta = ball(c["budget"]["pac_bayes"])
    if c["bound"]["inequality"] == "mcallester":
        return (nats + (m / delta).log()) / (m - 1)
    return (nats + (2 * arb(m).sqrt() / delta).log()) / m


def _flaws_of_kl(c: dict[str, Any]) -> Iterator[str]:
    kl, posterior = c["kl"], c["model"]["posterior"]
    sampled, drawn = kl["method"] == "monte-carlo", c["claim"]["predictor"] == "draw"
    if (kl["method"] == "drawn") != drawn:
        yield "the KL is not that of the predictor"
    if sampled != (c["budget"]["kl"] > 0) or sampled != (c["seeds"]["kl"] is not None):
        yield "samples without their share of delta and their seed"
    if kl["method"] == "exact" and posterior == "k-nonlinear":
        yield "there is no exact KL of k-nonlinear"
    if sampled and kl["shared"]:
        draws = c["risk"].get("draws", 0) * (2 if c["claim"]["predictor"] == "vote-tandem" else 1)
        if c["risk"]["sampler"] != "per-weights" or draws > kl["samples"]:
            yield "more draws are shared than there are samples"
    for entry, group in zip(c["prior"]["variances"], kl["groups"], strict=True):
        off = abs(_variance(entry) / ball(entry["value"]) - 1)
        if off > ball(Fraction("1.1e-12")) or (entry["b"], entry["c"]) != (100, Fraction("0.1")):
            yield "a variance is off its grid"
        # det ≤ (tr/d)^(d/2), by the means of eigenvalues
        d, log_det = entry["parameters"], ball(group["log_det"])
        spread = ball(group["trace"]) if kl["method"] == "exact" else None
        if sampled:
            spread = ball(group["lipschitz"]) ** 2 * d
        if spread is not None and log_det > d * ((spread / d).log() / 2 + ball(Fraction("1e-9"))):
            yield "no law has such a determinant"
        noise = group.get("noise_sq", d)
        if abs(ball(noise) - d) > (200 * ball(d)).sqrt() + 100:
            yield "no draw has such noise"
    if ball(kl["upper"]) < implied_kl(c):
        yield "kl.upper is too small"
    for tail in ("gaussian", "theorem3") if sampled else ():
        if ball(kl[tail]["upper"]) < implied_kl(c, tail):
            yield f"kl.{tail} is too small"


def _limit(name: str, q: Any, p: Any, complexity: arb) -> Iterator[str]:
    """That p ≥ q and kl(q‖p) is not below the complexity."""
    if p >= 1:
        return
    if p < q:
        yield f"{name} is below the risk"
        return
    a, b = ball(q), ball(p)
    kl = arb(0) if q == 0 else a * (a / b).log()
    kl += (1 - a) * ((1 - a) / (1 - b)).log()
    if kl < complexity:
        yield f"{name} is too small"


def _flaws_of_risk(c: dict[str, Any]) -> Iterator[str]:
    risk, m, share = c["risk"], c["data"]["m"], c["budget"]["risk"]
    one = c["claim"]["predictor"] == "draw"
    if (risk["sampler"] == "whole-set") != one or (share == 0) != one:
        yield "the risk is not that of the predictor"
        return
    if one:
        if Fraction(risk["upper"]) < Fraction(risk["errors"], m) or risk["errors"] > m:
            yield "risk.upper is below the error rate"
        return
    level = -ball(share).log()
    if risk["sampler"] == "per-example":
        network = {x["name"]: x["value"] for x in c["prior"]["choices"]}["network"]
        if network != "mlp" or c["model"]["posterior"] == "k-nonlinear":
            yield "weights are not independent for each example there"
        if risk["draws"] % m or risk["errors"] > risk["draws"]:
            yield "the draws are not whole passes"
        mean = Fraction(risk["errors"], risk["draws"])
    else:
        counts, batch = risk["counts"], risk["batch"]
        if sum(times for _, times in counts) != risk["draws"] or batch > m:
            yield "the counts do not add up"
        if len({errors for errors, _ in counts}) < len(counts) or counts[-1][0] > batch:
            yield "counts that cannot be"
        mean = Fraction(sum(errors * times for errors, times in counts), batch * risk["draws"])
        if risk["limit"] == "betting":
            if risk["upper"] < 1:
                upper = ball(risk["upper"])
                gain = sum(
                    ((1 - ball(Fraction(x, batch)) + upper).log() * n for x, n in counts), arb(0)
                )
                if gain < level:
                    yield "risk.upper is too small"
            return
    yield from _limit("risk.upper", mean, risk["upper"], level / risk["draws"])


@lru_cache(maxsize=1000)
def _binomial(n: int, errors: int, p: Fraction) -> arb:
    """P(Bin(n, p) ≤ errors), as an incomplete beta function."""
    if errors == n:
        return arb(1)
    return (1 - ball(p)).beta_lower(arb(n - errors), arb(errors + 1), regularized=True)


def _flaws_beside(c: dict[str, Any]) -> Iterator[str]:
    """The figures for comparison, which are not part of the claim."""
    also, m, risk = c["also"], c["data"]["m"], c["risk"]["upper"]
    held_out = also["held_out"]
    if held_out is not None:
        n, errors, upper = held_out["n"], held_out["errors"], held_out["upper"]
        if errors > n or (upper == 0 and errors < n):
            yield "also.held_out has more errors than examples"
        elif upper < 1 and _binomial(n, errors, Fraction(upper)) > ball(c["claim"]["delta"]):
            yield "also.held_out is too small"
    if c["claim"]["predictor"] != "gibbs":
        return
    kl, share = ball(c["kl"]["upper"]), ball(c["budget"]["pac_bayes"])
    complexity = {
        name: implied_complexity(c | {"bound": {"inequality": name}}, kl)
        for name in ("mcallester", "maurer")
    }
    for name in complexity:
        yield from _limit(f"also.{name}", risk, also[name], complexity[name])
    pinsker = ball(risk) + (complexity["mcallester"] / 2).sqrt()
    if also["pinsker"] < 1 and ball(also["pinsker"]) < pinsker:
        yield "also.pinsker is too small"
    index, value = also["catoni"]["beta_index"], also["catoni"]["value"]
    beta = ball(Fraction(index + 10, 20))
    nats = complexity["maurer"] * m - (2 * arb(m).sqrt() / share).log() - share.log()
    nats += 2 * arb(index).log() + (arb.pi() ** 2 / 6).log()
    if value < 1 and ball(value) < (ball(risk) + beta * nats / m) / (1 - 1 / (2 * beta)):
        yield "also.catoni is too small"
