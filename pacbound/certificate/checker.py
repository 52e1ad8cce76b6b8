"""Check pacbound risk certificates. Standard library only: copy this file anywhere and run it.

Numbers are read as decimals and each step of the claim is recomputed in 50-digit intervals rounded
outward. Nothing is searched for: a claimed limit p is accepted when one evaluation shows kl(risk‖p)
to be at least the complexity. What no certificate can prove is that its counts, sums and digests
are those of the data and the checkpoint that it names: certifying again shows that.
"""

from __future__ import annotations

import argparse
import decimal
import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partialmethod
from typing import Any, TypeAlias

__all__ = ["CHOICES", "FIELDS", "FORMAT", "PREFERRED_WIDTHS", "VARIANTS", "Verdict", "check"]
__all__ += ["check_file", "choice", "main", "required_choices", "sentence"]

Number: TypeAlias = Decimal | int
Record: TypeAlias = dict[str, Any]

FORMAT = "pacbound-certificate/1"
MAX_BYTES, MAX_DEPTH, MAX_DIGITS, MAX_EXPONENT, MAX_COUNT = 4 * 2**20, 20, 60, 400, 10**15
MAX_ENTRIES, MAX_ERRORS = 1000, 500_000  # of an array; of a held-out set: about a second
GRID_B, GRID_C = 100, Decimal("0.1")  # a prior variance is c·exp(−j/b), j = 1, 2, …

# Whatever about a prior could be chosen by looking at the data comes from a declared list, and its
# k-th entry costs 2 ln k + ln(π²/6) nats. Lists only ever grow at the end. A seed and a depth are
# any integer from 0; a width is any positive integer, the preferred ones coming first.
CHOICES: dict[str, tuple[str | float, ...]] = {
    "network": ("mlp", "lenet"),
    "initializer": ("fan-in-uniform", "he-normal", "xavier-uniform", "orthogonal", "zeros"),
    "input_scale": (1, 2, 1.5, 0.5, 3, 4, 0.25, 8),
    "smoothing": (0, 1, 2, 0.5, 1.5, 3, 0.75, 1.25),  # kernel length in pixels; 0: isotropic
    "variance_groups": ("layer", "network"),
}
PREFERRED_WIDTHS = (600, 200, 300, 100, 400, 800, 1000, 1200)

# The fields of each object, by its path: exactly these, each of a kind in _is or one of some texts.
FIELDS = {
    "": f"format:{FORMAT} claim:object budget:object data:object model:object prior:object "
    "kl:object risk:object bound:object also:object seeds:object made:object",
    "claim": "risk_bound:[0,1] delta:(0,1) loss:zero-one predictor:gibbs sentence:text",
    "budget": "pac_bayes:(0,1) risk:(0,1) kl:[0,1]",
    "data": "name:text m:int>0 classes:int>0 sha256:digest",
    "model": "recipe:text posterior:diag|k-diag|k-linear parameters:int>0 checkpoint_sha256:digest",
    "prior": "center:object variances:objects choices:objects trials:int>0",
    "prior.center": "kind:initialization initializer:text seed:int>=0 sha256:digest",
    "prior.variances": "layers:texts parameters:int>0 b:real>0 c:real>0 index:int>0 value:real>0",
    "prior.choices": "name:text index:int>0 value:text-or-real",
    "kl=exact": "method:exact upper:real>=0 groups:objects",
    "kl.groups": "trace:real>0 distance_sq:real>=0 log_det:real",
    "risk=per-example": "sampler:per-example draws:int>0 errors:int>=0 limit:chernoff upper:[0,1]",
    "bound": "inequality:mcallester|maurer complexity:real>=0 value:[0,1]",
    "also": "mcallester:[0,1] maurer:[0,1] pinsker:real>=0 catoni:object held_out:object-or-null",
    "also.catoni": "beta_index:int>0 value:real>=0",
    "also.held_out": "n:int>0 errors:int>=0 upper:[0,1]",
    "seeds": "derivation:text risk:digest",
    "made": "pacbound:text python:text torch:text date:text command:text seconds:real>=0 "
    "settings:any-object",
}
VARIANTS = {"kl": "method", "risk": "sampler"}  # the field that selects the others


class Rejected(Exception):
    """The certificate does not hold; the message says why."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Rejected(message)


def _read(content: str | bytes) -> Record:
    """The JSON object in `content`, its numbers as int or Decimal; ValueError if it is not JSON."""
    if len(content) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
    text = content.decode("utf-8") if isinstance(content, bytes) else content
    numbers: Record = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), _parse)
    try:
        certificate: Record = json.loads(text, object_pairs_hook=_no_duplicates, **numbers)
        shallow = _depth(certificate) <= MAX_DEPTH
    except RecursionError:
        shallow = False
    _require(shallow, f"it is nested deeper than {MAX_DEPTH} levels")
    return certificate


def _parse(text: str) -> Number:
    if len(text) > MAX_DIGITS:
        raise Rejected(f"a number of more than {MAX_DIGITS} digits: {text[:20]}…")
    if text.isdigit():
        return int(text)
    number = Decimal(text)
    if not number.is_finite() or abs(number.adjusted()) > MAX_EXPONENT:
        raise Rejected(f"{text} is not a number or out of range")
    return number if "." in text or "e" in text.lower() else int(text)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> Record:
    fields = dict(pairs)
    _require(len(fields) == len(pairs), f"a field appears twice in {', '.join(fields)[:100]}")
    return fields


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _is(kind: str, value: Any) -> bool:
    text, real = isinstance(value, str), type(value) in (int, Decimal)  # a bool is no number here
    count = type(value) is int and value <= MAX_COUNT
    kinds = {"text": text, "text-or-real": text or real, "any-object": isinstance(value, dict)}
    kinds["digest"] = text and re.fullmatch("[0-9a-f]{64}", value) is not None
    kinds["texts"] = isinstance(value, list) and {type(x) for x in value} == {str}
    kinds |= {"real": real, "real>0": real and value > 0, "real>=0": real and value >= 0}
    kinds |= {"[0,1]": real and 0 <= value <= 1, "(0,1)": real and 0 < value < 1}
    kinds |= {"int>0": count and value > 0, "int>=0": count and value >= 0}
    return kinds[kind] if kind in kinds else text and value in kind.split("|")


def _check_shape(value: Any, path: str, where: str) -> None:
    """Reject an object that does not have exactly the fields and kinds of FIELDS[path]."""
    _require(isinstance(value, dict), f"{where or 'a certificate'} must be an object")
    variant = f"{path}={value.get(VARIANTS[path])}" if path in VARIANTS else path
    _require(variant in FIELDS, f"{variant[:50]} is not known")
    fields = dict(field.split(":") for field in FIELDS[variant].split())
    for name in [*fields, *value]:
        at, inner = f"{where}.{name[:50]}".lstrip("."), f"{path}.{name}".lstrip(".")
        _require(name in value, f"the field {at} is missing")
        _require(name in fields, f"the field {at} is unknown")
        kind, item = fields[name], value[name]
        if kind == "objects":
            fits = isinstance(item, list) and 0 < len(item) <= MAX_ENTRIES
            _require(fits, f"{at} must be an array of 1 to {MAX_ENTRIES} entries")
            for position, element in enumerate(item):
                _check_shape(element, inner, f"{at}[{position}]")
        elif kind == "object" or (kind == "object-or-null" and item is not None):
            _check_shape(item, inner, at)
        elif kind != "object-or-null":
            _require(_is(kind, item), f"{at} must be {kind}")


TRAPS = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
LIMITS = (decimal.MIN_EMIN, decimal.MAX_EMAX)
DOWN, UP = (Context(50, way, *LIMITS, traps=TRAPS) for way in (ROUND_FLOOR, ROUND_CEILING))


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

    __add__ = partialmethod(_hull, "add")
    __sub__ = partialmethod(_hull, "subtract")
    __mul__ = partialmethod(_hull, "multiply")
    __truediv__ = partialmethod(_hull, "divide")
    ln = partialmethod(_widened, "ln")
    exp = partialmethod(_widened, "exp")
    sqrt = partialmethod(_widened, "sqrt")


ONE = Interval(1)
PI = Interval(Decimal("3.14159265358979323846264338"), Decimal("3.14159265358979323846264339"))


def _kl_lower(q: Interval, p: Number) -> Decimal:
    """A number that kl(q‖p) is not below, for p above q; 0 for any other p."""
    if p >= 1:
        return Decimal("Infinity")
    if p <= q.hi:
        return Decimal(0)
    heads = q * (q / p).ln() if q.hi > 0 else Interval(0)
    return (heads + (ONE - q) * ((ONE - q) / (ONE - p)).ln()).lo


def _index_cost(index: int) -> Interval:
    return Interval(index).ln() * 2 + (PI * PI / 6).ln()


def _binomial_upper(errors: int, n: int, p: Number) -> Decimal:
    """A number that P(Bin(n, p) ≤ errors) is not above."""
    _require(errors <= MAX_ERRORS, f"also.held_out can be checked up to {MAX_ERRORS} errors")
    hit, miss = Interval(p), ONE - p
    term, odds = (hit.ln() * errors + miss.ln() * (n - errors)).exp().hi, (miss / hit).hi
    for i in range(1, errors + 1):
        term = UP.divide(UP.multiply(term, n - errors + i), i)
    total = term
    for count in range(errors, 0, -1):
        term = UP.divide(UP.multiply(UP.multiply(term, count), odds), n - count + 1)
        total = UP.add(total, term)
    return total


def choice(name: str, value: Any) -> Record:
    """The entry of prior.choices for a knob; ValueError for a value that is not declared."""
    width = type(value) is int and re.fullmatch(r"width\.[1-9][0-9]?", name) is not None
    declared = PREFERRED_WIDTHS if width else CHOICES.get(name, ())
    if type(value) is not bool and value in declared:
        index = declared.index(value) + 1
    elif width and value >= 1:
        index = value + sum(preferred > value for preferred in PREFERRED_WIDTHS)
    elif name in ("seed", "depth") and type(value) is int and value >= 0:
        index = value + 1
    else:
        raise ValueError(f"{str(value)[:50]} is not a declared value of {name[:50]}")
    return {"name": name, "index": index, "value": value}


def required_choices(network: str, depth: int) -> list[str]:
    """The names of the knobs that the prior of a network has, each to be paid for."""
    names = ["network", "seed", "initializer", "input_scale", "smoothing", "variance_groups"]
    widths = [f"width.{layer + 1}" for layer in range(depth)]
    return [*names, "depth", *widths] if network == "mlp" else names


def _check_choices(prior: Record) -> None:
    values = {entry["name"]: entry["value"] for entry in prior["choices"]}
    for entry in prior["choices"]:
        name, index = entry["name"], entry["index"]
        try:
            position = choice(name, entry["value"])["index"]
        except ValueError as error:
            raise Rejected(f"prior.choices: {error}") from None
        _require(index == position, f"prior.choices: {name} is number {position} and not {index}")
    required = required_choices(values.get("network", ""), min(values.get("depth", 0), 100))
    missing = [name for name in required if name not in values]
    _require(not missing, f"prior.choices leaves out {', '.join(missing)[:100]}")
    _require(len(prior["choices"]) == len(required), "prior.choices has a knob twice or too many")
    for name in ("seed", "initializer"):
        same = prior["center"][name] == values[name]
        _require(same, f"prior.center.{name} is not the one of prior.choices")
    one = len(prior["variances"]) == 1 or values["variance_groups"] != "network"
    _require(one, "prior.variances must be one when variance_groups is network")


def _at_least(name: str, claimed: Number, implied: Number, by: str) -> None:
    _require(claimed >= implied, f"{name} is {claimed} but {by} imply {Decimal(implied):.17g}")


def _variances(c: Record) -> list[Interval]:
    """The prior variances, from their indices."""
    groups = c["prior"]["variances"]
    layers = [layer for group in groups for layer in group["layers"]]
    _require(len(set(layers)) == len(layers), "prior.variances has a layer twice")
    whole = sum(group["parameters"] for group in groups) == c["model"]["parameters"]
    _require(whole, "the parameters of prior.variances do not add up to model.parameters")
    variances = []
    for group in groups:
        index, value = group["index"], group["value"]
        on_grid = group["b"] == GRID_B and group["c"] == GRID_C
        _require(on_grid, f"prior.variances must have b = {GRID_B} and c = {GRID_C}")
        variance = Interval(GRID_C) / (Interval(index) / GRID_B).exp()
        agree = abs((variance / value - 1).hi) <= Decimal("1e-12")
        _require(agree, f"prior.variances: {value} is not number {index} of the grid")
        variances.append(variance)
    return variances


def _exact_kl(c: Record) -> Decimal:
    """Σ ½ [T/λ − d + d ln λ] − ln|det|, T = trace + distance²: the groups are independent."""
    _require(c["budget"]["kl"] == 0, "budget.kl must be 0 when the KL is exact")
    entries, groups = c["prior"]["variances"], c["kl"]["groups"]
    _require(len(groups) == len(entries), "kl.groups and prior.variances differ in number")
    total = Interval(0)
    for entry, group, variance in zip(entries, groups, _variances(c), strict=True):
        d, trace, log_det = entry["parameters"], Interval(group["trace"]), group["log_det"]
        # No covariance of this trace has a larger determinant, up to the rounding of the sums.
        largest = (trace / d).ln() * d / 2 + Decimal("1e-9") * d
        _require(log_det <= largest.hi, f"kl.groups: log_det is {log_det}, too large for its trace")
        second_moment = trace + group["distance_sq"]
        total += (second_moment / variance - d + variance.ln() * d) / 2 - log_det
    return total.hi


def _check_per_example(c: Record) -> None:
    """Chernoff: p is an upper limit of n independent draws when kl(k/n‖p) ≥ ln(1/δ)/n."""
    draws, errors, upper = c["risk"]["draws"], c["risk"]["errors"], c["risk"]["upper"]
    _require(draws % c["data"]["m"] == 0, "risk.draws must be a multiple of data.m")
    _require(errors <= draws, "risk.errors is larger than risk.draws")
    allowance = (ONE / c["budget"]["risk"]).ln() / draws
    enough = _kl_lower(Interval(errors) / draws, upper) >= allowance.hi
    _require(enough, f"risk.upper is {upper}: too small for its errors, draws and delta")


def _nats(c: Record) -> Interval:
    """The KL, and the cost of every choice that was made for the prior."""
    nats: Interval = Interval(c["prior"]["trials"]).ln() + c["kl"]["upper"]
    for entry in [*c["prior"]["variances"], *c["prior"]["choices"]]:
        nats += _index_cost(entry["index"])
    return nats


def _check_inverse(name: str, c: Record, value: Number, complexity: Number) -> None:
    enough = _kl_lower(Interval(c["risk"]["upper"]), value) >= complexity
    _require(enough, f"{name} is {value}: too small for the risk and the complexity")


def _check_bound(c: Record, nats: Interval) -> None:
    bound, m, share = c["bound"], c["data"]["m"], c["budget"]["pac_bayes"]
    complexity = INEQUALITIES[bound["inequality"]](nats, m, share).hi
    _at_least("bound.complexity", bound["complexity"], complexity, "the KL, the choices and m")
    _check_inverse("bound.value", c, bound["value"], bound["complexity"])
    _at_least("claim.risk_bound", c["claim"]["risk_bound"], bound["value"], "its parts")


def _check_also(c: Record, nats: Interval) -> None:
    """The figures beside the claim. Each may be 1 or more, which says nothing."""
    also, m, share, delta = c["also"], c["data"]["m"], c["budget"]["pac_bayes"], c["claim"]["delta"]
    risk, pinsker, catoni = Interval(c["risk"]["upper"]), also["pinsker"], also["catoni"]
    for name, complexity in INEQUALITIES.items():
        if also[name] < 1:
            _check_inverse(f"also.{name}", c, also[name], complexity(nats, m, share).hi)
    if pinsker < 1:
        implied = risk + (INEQUALITIES["mcallester"](nats, m, share) / 2).sqrt()
        _at_least("also.pinsker", pinsker, implied.hi, "the risk and the KL")
    if catoni["value"] < 1:
        beta = Interval(catoni["beta_index"] + 10) / 20
        paid = (nats + _index_cost(catoni["beta_index"]) + (ONE / share).ln()) / m
        implied = (risk + beta * paid) / (ONE - ONE / (beta * 2))
        _at_least("also.catoni.value", catoni["value"], implied.hi, "the risk and the KL")
    if also["held_out"] is not None:
        n, errors, upper = (also["held_out"][name] for name in ("n", "errors", "upper"))
        _require(errors <= n, "also.held_out.errors is larger than its n")
        enough = upper == 1 or (upper > 0 and _binomial_upper(errors, n, upper) <= delta)
        _require(enough, f"also.held_out.upper is {upper}: too small for its errors, n and delta")


KL_METHODS = {"exact": _exact_kl}
RISK_SAMPLERS = {"per-example": _check_per_example}
INEQUALITIES: dict[str, Callable[[Interval, int, Number], Interval]] = {  # nats, m, δ: complexity
    "mcallester": lambda nats, m, delta: (nats + (Interval(m) / delta).ln()) / (m - 1),
    "maurer": lambda nats, m, delta: (nats + (Interval(m).sqrt() * 2 / delta).ln()) / m,
}
PREDICTORS = {"gibbs": "the randomised predictor (fresh weights for every prediction)"}


def sentence(certificate: Record) -> str:
    """The claim in words; the risk is rounded up and the confidence down."""
    claim, m = certificate["claim"], certificate["data"]["m"]
    return (
        f"With probability at least {_confidence(claim['delta'])} % over the draw of the {m} "
        f"training examples and the Monte Carlo draws, the {claim['loss']} error of "
        f"{PREDICTORS[claim['predictor']]} on new data from the same distribution is at most "
        f"{_percent(claim['risk_bound'])} %."
    )


def _percent(part: Decimal | float, step: str = "0.01") -> Decimal:
    return UP.quantize(UP.multiply(Decimal(str(part)), 100), Decimal(step))


def _confidence(delta: Decimal | float) -> str:
    return f"{(100 - _percent(delta, '0.0001')).normalize():f}"


def _check_certificate(c: Record) -> None:
    _check_shape(c, "", "")
    spent, delta = sum(map(Fraction, c["budget"].values())), Fraction(c["claim"]["delta"])
    _require(spent == delta, f"the budget adds up to {float(spent)} and not to {float(delta)}")
    _require(c["data"]["classes"] >= 2, "data.classes must be at least 2")
    _require(c["data"]["m"] >= 8, "data.m must be at least 8: Maurer's inequality needs it")
    _check_choices(c["prior"])
    _at_least("kl.upper", c["kl"]["upper"], KL_METHODS[c["kl"]["method"]](c), "its primitives")
    RISK_SAMPLERS[c["risk"]["sampler"]](c)
    _check_bound(c, _nats(c))
    _check_also(c, _nats(c))
    same = c["claim"]["sentence"] == sentence(c)
    _require(same, "claim.sentence is not what the numbers say")


@dataclass(frozen=True)
class Verdict:
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
        c = _read(content)
        _check_certificate(c)
        risk_bound, delta = Decimal(c["claim"]["risk_bound"]), Decimal(c["claim"]["delta"])
        _require(risk_bound <= max_risk, f"its risk bound {risk_bound} is over {max_risk}")
        same = sha256 in ("", c["model"]["checkpoint_sha256"])
        _require(same, "it was issued for another checkpoint: the digests differ")
    except Rejected as error:
        return Verdict(False, str(error), 1)
    except ArithmeticError:
        return Verdict(False, "its numbers are out of range", 1)
    except ValueError as error:  # not JSON, or not UTF-8
        return Verdict(False, f"not JSON: {error}", 2)
    summary = f"risk ≤ {_percent(risk_bound)} % with probability ≥ {_confidence(delta)} % "
    summary += f"({c['data']['name'][:50]}, m = {c['data']['m']}, {c['model']['posterior']})"
    return Verdict(True, "", 0, risk_bound, delta, summary)


def check_file(path: str, max_risk: Decimal = Decimal(1), checkpoint: str = "") -> Verdict:
    """The verdict on a file and, with `checkpoint`, on its being for that other file."""
    try:
        sha256 = ""
        if checkpoint:
            with open(checkpoint, "rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        with open(path, "rb") as stream:
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
    use = Decimal(repr(options.max_risk)), options.checkpoint
    verdicts = [check_file(path, *use) for path in options.files]
    for path, verdict in zip(options.files, verdicts, strict=True):
        print(verdict.line(path))
    return max(verdict.exit_code for verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main())
