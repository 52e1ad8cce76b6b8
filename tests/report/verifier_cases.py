"""Certificates of format 2 for the JavaScript checker, and forgeries of them.

The figures are computed here with mpmath from the formulas of SPEC.md, by bisection and sums, so
that they share nothing with the checker's own arithmetic.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
from mpmath import mpf

mpmath.mp.dps = 60

SPEC = Path(__file__).parents[2] / "pacbound" / "certificate" / "SPEC.md"
Record = dict[str, Any]


def examples() -> list[str]:
    """The two certificates of SPEC.md's appendix B, as they are written there."""
    appendix = SPEC.read_text(encoding="utf-8").partition("## Appendix B")[2]
    return re.findall(r"```json\n(.*?)```", appendix, re.DOTALL)


def fixed() -> Record:
    """The first example of SPEC.md."""
    record: Record = json.loads(examples()[0])
    return record


def gibbs() -> Record:
    """The second example of SPEC.md."""
    record: Record = json.loads(examples()[1])
    return record


# ---- figures -------------------------------------------------------------------------------------


def up(value: mpf, places: int) -> str:
    """Rounded up to so many decimals."""
    scaled = int(mpmath.ceil(value * mpf(10) ** places))
    digits = f"{abs(scaled):0{places + 1}d}"
    return f"{'-' if scaled < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def smallest(sound: Callable[[mpf], bool], low: mpf | int = 0) -> str:
    """The rate that is due where `sound` is true from some p upward."""
    bottom, top = mpf(low), mpf(1)
    for _ in range(190):
        middle = (bottom + top) / 2
        bottom, top = (bottom, middle) if sound(middle) else (middle, top)
    return up(top, 10)


def cost(index: int) -> mpf:
    return 2 * mpmath.log(index) + mpmath.log(mpmath.pi**2 / 6)


def kl(q: mpf, p: mpf) -> mpf:
    first = q * mpmath.log(q / p) if q else mpf(0)
    return first + (1 - q) * mpmath.log((1 - q) / (1 - p))


def kl_inverse(q: mpf, c: mpf, factor: int = 1) -> str:
    return smallest(lambda p: p > factor * q and p < factor and kl(q, p / factor) >= c)


def binomial_limit(k: int, n: int, level: mpf) -> str:
    """The Clopper–Pearson limit, by the plain sum."""

    def tail(p: mpf) -> mpf:
        return mpmath.fsum(mpmath.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))

    return smallest(lambda p: tail(p) <= mpmath.exp(-level), mpf(k) / n)


def maurer_constant(m: int) -> mpf:
    root = mpmath.sqrt(2 * mpmath.pi * m) * mpmath.exp(mpf(1) / (12 * m))
    return 1 + (root - mpf(2) / 3 - 8 / (135 * (m + mpf(8) / 45))) / 2


def seed(record: Record, purpose: str) -> str:
    digests = (record[part]["sha256"] for part in ("model", "prior", "data"))
    text = f"pacbound-seed/2 {purpose} {' '.join(digests)}\n"
    return hashlib.sha256(text.encode()).hexdigest()


def digest(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()


# ---- more certificates ---------------------------------------------------------------------------


def draw() -> Record:
    """One network around a prior from elsewhere, which may abstain; every subject but groups."""
    record = gibbs()
    record["predictor"] = "draw"
    record["delta"] = "0.05"
    record["data"] |= {"duplicates": 20, "copies": "independent"}
    record["model"] |= {
        "recipe": "module",
        "network": "module",
        "structure_sha256": digest("structure"),
        "extractors": [{"sha256": digest("extractor"), "origin": "a résumé of photographs"}],
        "answer_above": "0.75",
    }
    record["prior"] = {
        "kind": "elsewhere",
        "sha256": record["prior"]["sha256"],
        "origin": "trained in 2020 on other coins",
        "validation": {"examples": 0, "errors": 0},
        "choices": {
            "initializer": "fan-in-uniform",
            "seed": 0,
            "variance_groups": "layer",
            "blocks": [],
        },
        "variances": [
            {"name": "first", "parameters": 20, "by": "grid", "index": 3},
            {"name": "second", "parameters": 2, "by": "given", "value": "0.01"},
        ],
    }
    code = up(cost(3) + mpmath.log(mpf(10) / 9), 6)
    ledger = up(mpmath.log(4) + mpmath.log(mpmath.pi**2 / 6), 6)
    groups = [("2", "19.5", "-22.5"), ("0.03", "2.25", "-4.5")]
    record["evidence"] = {
        "kind": "drawn",
        "weights_sha256": digest("weights"),
        "groups": [
            {"distance_sq": far, "noise_sq": noise, "log_det": det} for far, noise, det in groups
        ],
    }
    variances = (mpmath.exp(mpf(-3) / 100) / 10, mpf("0.01"))
    nats = sum(
        (mpf(far) / v - mpf(noise) + d * mpmath.log(v)) / 2 - mpf(det)
        for (far, noise, det), v, d in zip(groups, variances, (20, 2), strict=True)
    )
    record["evidence"]["nats"] = up(nats, 6)
    x = mpf(record["evidence"]["nats"]) + mpf(code)
    a = mpmath.log(mpmath.exp(x) + mpmath.e)
    level = mpmath.log(100) + mpf(ledger) + a + 2 * mpmath.log(a)  # of a share of 0.01
    record["bound"] = {
        "inequality": "binomial",
        "selected": "rule",
        "code": code,
        "ledger": ledger,
    }
    common = {"delta": "0.01"}
    weighted = {"loss": "cost", "cost": "weights", "cost_sha256": digest("costs")}
    record["claims"] = [
        {"subject": "all", "loss": "zero-one", "m": 1000, "errors": 60, **common},
        {"subject": "all", "loss": "abstention", "m": 1000, "errors": 100, **common},
        {"subject": "answered", "loss": "zero-one", "m": 900, "errors": 30, **common},
        {"subject": "answered", "m": 900, "total": "12.5", **weighted, **common},
        {"subject": "predicted-class", "class": 1, "loss": "zero-one", "m": 400, "errors": 0}
        | common,
    ]
    for claim in record["claims"]:
        m = claim["m"]
        mean = mpf(claim.get("total", claim.get("errors"))) / m
        claim["empirical"] = up(mean, 10)
        claim["bound"] = (
            kl_inverse(mean, level / m)
            if claim["loss"] == "cost"
            else binomial_limit(claim["errors"], m, level)
        )
    first = record["claims"][0]
    c = (x + mpf(ledger) + mpmath.log(maurer_constant(1000) * 100)) / 1000
    record["also"] = [
        {"kind": "inequality", "name": "binomial", "value": first["bound"]},
        {"kind": "inequality", "name": "density", "value": kl_inverse(mpf("0.06"), c)},
        {"kind": "held-out", "examples": 50, "errors": 50, "upper": "1.0000000000"},
    ]
    record["seeds"] = {"draw": seed(record, "draw")}
    error, abstains, answered, mean_cost, predicted = (
        up(mpf(claim["bound"]) * 100, 2) for claim in record["claims"]
    )
    record["sentence"] = (
        "With probability at least 95 % over the draw of the 1000 counted examples and of the "
        "network, the following holds for the one network that was drawn from the posterior, on "
        f"new data from the same distribution: its error is at most {error} %; it answers at "
        f"least {100 - mpf(abstains)!s:.5} % of the inputs; its error among the inputs that it "
        f"answers is at most {answered} %; its mean cost “weights” among the inputs that it "
        f"answers is at most {mean_cost} % of the unit; its error where it predicts class 1 is "
        f"at most {predicted} %. The prior is declared to be free of the counted examples "
        "(“trained in 2020 on other coins”). The extractors of its inputs (number: 1) are declared "
        "to be free of the counted examples. It answers where its confidence is above 0.75, a "
        "threshold that is declared to have been fixed without the counted examples. Declared "
        "and paid for: candidates 1, adaptive looks 2, place in the order of certificates 1. "
        "Exact copies among the 1000 examples: 20, declared to be independent examples."
    )
    return record


def tandem() -> Record:
    """A vote with everything that is sampled: a nonlinear posterior around a learned prior."""
    record = gibbs()
    record["predictor"] = "vote-tandem"
    record["delta"] = "0.04"
    record["data"] |= {"examples": 40_000, "m": 20_000, "duplicates": 0}
    record["model"] |= {
        "recipe": "mlp-30",
        "network": "lenet",
        "posterior": "k-nonlinear",
        "parameters": 200,
    }
    record["prior"] = {
        "kind": "learned",
        "sha256": record["prior"]["sha256"],
        "part": {"examples": 20_000, "sha256": digest("part")},
        "validation": {"examples": 500, "errors": 20},
        "choices": {
            "seed": 0,
            "prior_fraction": "0.5",
            "split_seed": 7,
            "variance_groups": "layer",
            "blocks": [{"layer": 1, "sizes": [30, 570]}, {"layer": 2, "sizes": [1, 2, 3]}],
        },
        "variances": [
            {"name": "1", "parameters": 100, "by": "grid", "index": 200},
            {"name": "2", "parameters": 100, "by": "given", "value": "0.0135"},
        ],
    }
    record["ledger"] = {
        "recipe": {"candidates": 3, "looks": 1},
        "user": {"candidates": 2, "looks": 0},
        "certificates": {"counted": "declared", "number": 2},
    }
    blocks = cost(3) + cost(1) + cost(1) + cost(30) + cost(2) + cost(2) + cost(1) + cost(2)
    choices = mpmath.log(10) + cost(1) + cost(5) + cost(8) + cost(1) + blocks
    code = up(cost(200) + choices, 6)
    ledger = up(mpmath.log(6) + mpmath.log(2), 6)
    group = {"mean_square": "1.7", "lipschitz": "0.12", "offset": "0.7", "log_det": "-225"}
    record["evidence"] = {
        "kind": "monte-carlo",
        "delta_kl": "0.005",
        "tail": "gaussian",
        "samples": 1000,
        "groups": [dict(group), dict(group)],
    }
    level = mpmath.log(2 * 2 / mpf("0.005"))
    lip, count = mpf("0.12"), 1000
    variances = (mpmath.exp(-2) / 10, mpf("0.0135"))

    def nats(moment: mpf) -> str:
        parts = ((moment / v - 100 + 100 * mpmath.log(v)) / 2 + 225 for v in variances)
        return up(mpmath.fsum(parts), 6)

    root = mpmath.sqrt(mpf("1.7")) + lip * mpmath.sqrt(2 * level / count)
    record["evidence"]["nats"] = nats(root**2 + lip**2 / count)
    norm = (lip * 10 + mpf("0.7")) / mpmath.sqrt(mpmath.log(2))
    constant = (mpmath.sqrt(6) * lip + norm) ** 2
    rest = level + mpmath.sqrt(level**2 + 8 * count * level)
    theorem3 = nats(mpf("1.7") + constant * rest / count)

    histogram = [[0, 700], [1, 200], [2, 80], [50, 20]]
    mean = mpf(200 + 160 + 1000) / (50 * 1000)
    risk_level = mpmath.log(2 / mpf("0.0025"))
    betting = smallest(
        lambda p: (
            mpmath.fsum(t * mpmath.log(1 + p - mpf(v) / 50) for v, t in histogram) >= risk_level
        )
    )
    chernoff = kl_inverse(mean, risk_level / 1000)
    paid = 2 * mpf(record["evidence"]["nats"]) + mpf(code) + mpf(ledger)

    def catoni(limit: str, m: int, delta: str) -> str:
        q0 = mpf(41) / 1002
        c0 = (3 - mpmath.log(mpf(delta))) / m
        p0 = min(q0 + mpmath.sqrt(2 * q0 * c0) + c0, (1 + q0) / 2)
        lam = mpmath.log(p0 * (1 - q0) / (q0 * (1 - p0)))
        exponent = -lam * mpf(limit) - (paid - mpmath.log(mpf(delta))) / m
        return up(min(4 * (1 - mpmath.exp(exponent)) / (1 - mpmath.exp(-lam)), mpf(1)), 10)

    sampled = {"sampler": "per-weights", "scale": 50, "empirical": up(mean, 10)}
    record["claims"] = [
        {"subject": "all", "loss": "zero-one", "m": 20_000, "delta": "0.02"}
        | {"delta_risk": "0.0025"}
        | {"histogram": histogram, "limit_by": "betting", "limit": betting}
        | {"bound": catoni(betting, 20_000, "0.02"), **sampled},
        {"subject": "true-class", "class": 1, "loss": "zero-one", "m": 8000, "delta": "0.01"}
        | {"delta_risk": "0.0025", "histogram": histogram, "limit_by": "chernoff"}
        | {"limit": chernoff, "bound": catoni(chernoff, 8000, "0.01"), **sampled},
    ]
    record["bound"] = {"inequality": "catoni", "selected": "rule", "code": code, "ledger": ledger}
    c = (paid + mpmath.log(20_000 / mpf("0.02"))) / 19_999
    q = mpf(betting)
    record["also"] = [
        {"kind": "inequality", "name": "mcallester", "value": kl_inverse(q, c, 4)},
        {"kind": "inequality", "name": "catoni", "value": record["claims"][0]["bound"]},
        {"kind": "inequality", "name": "pinsker"}
        | {"value": up(min(4 * (q + mpmath.sqrt(c / 2)), mpf(1)), 10)},
        {"kind": "theorem3", "nats": theorem3},
    ]
    record["seeds"] = {"risk": seed(record, "risk"), "kl": seed(record, "kl")}
    error, given = (up(mpf(claim["bound"]) * 100, 2) for claim in record["claims"])
    record["sentence"] = (
        "With probability at least 96 % over the draw of the 20000 counted examples and the Monte "
        "Carlo draws, the following holds for the majority vote of all networks, weighted by the "
        f"posterior, on new data from the same distribution: its error is at most {error} %; its "
        f"error on examples of true class 1 is at most {given} %. The prior was learned from the "
        "other 20000 examples of the data set. Declared and paid for: candidates 6, adaptive looks "
        "1, certificates 2."
    )
    return record


def density() -> Record:
    """One network around an initialised prior."""
    record = gibbs()
    record["predictor"] = "draw"
    record["delta"] = "0.02"
    group = {"distance_sq": "1.1", "noise_sq": "22", "log_det": "-50.25"}
    variance = mpmath.exp(mpf("-1.5")) / 10
    nats = (mpf("1.1") / variance - 22 + 22 * mpmath.log(variance)) / 2 + mpf("50.25")
    record["evidence"] = {
        "kind": "drawn",
        "weights_sha256": digest("weights"),
        "groups": [group],
        "nats": up(nats, 6),
    }
    ledger = up(mpmath.log(4) + mpmath.log(mpmath.pi**2 / 6), 6)
    record["bound"] |= {"inequality": "density", "ledger": ledger}
    paid = mpf(record["evidence"]["nats"]) + mpf(record["bound"]["code"]) + mpf(ledger)
    c = (paid + mpmath.log(maurer_constant(1000) * 50)) / 1000
    record["claims"] = [
        {"subject": "all", "loss": "zero-one", "m": 1000, "delta": "0.02", "errors": 60}
        | {"empirical": "0.0600000000", "bound": kl_inverse(mpf("0.06"), c)}
    ]
    record["also"] = []
    record["seeds"] = {"draw": seed(record, "draw")}
    error = up(mpf(record["claims"][0]["bound"]) * 100, 2)
    record["sentence"] = (
        "With probability at least 98 % over the draw of the 1000 counted examples and of the "
        "network, the following holds for the one network that was drawn from the posterior, on "
        f"new data from the same distribution: its error is at most {error} %. Declared and paid "
        "for: candidates 1, adaptive looks 2, place in the order of certificates 1. Exact copies "
        "among the 1000 examples: 7."
    )
    return record


def centre() -> Record:
    """The centre of a learned prior as a fixed predictor, with two costs and several groups."""
    record = fixed()
    record["data"] |= {"examples": 143}  # 0.3 · 143 + ½ = 43.4
    record["model"] |= {"source": "centre", "recipe": "table"}
    record["prior"] = {
        "kind": "learned",
        "part": {"examples": 43, "sha256": digest("part")},
        "choices": {
            "seed": 0,
            "prior_fraction": "0.3",
            "split_seed": 0,
            "variance_groups": "layer",
            "blocks": [],
        },
    }
    record["ledger"]["user"]["candidates"] = 1
    code = up(mpmath.log(10) + cost(1) + cost(3) + cost(1) + cost(1) + cost(1), 6)
    record["bound"] |= {"code": code, "ledger": "0.000000"}
    weighted = {"loss": "cost", "cost_sha256": digest("costs"), "delta": "0.01"}
    record["claims"] = [
        {"subject": "all", "cost": "time", "m": 100, "total": "1.25", **weighted},
        {"subject": "group", "group": "north", "loss": "zero-one", "m": 40}
        | {"delta": "0.01", "errors": 40},
        {"subject": "group", "group": "sou\U0001f642th", "loss": "zero-one", "m": 60}
        | {"delta": "0.02", "errors": 0},
        {"subject": "group", "group": "north", "cost": "time", "m": 40, "total": "0", **weighted},
    ]
    for claim in record["claims"]:
        mean = mpf(claim.get("total", claim.get("errors"))) / claim["m"]
        level = mpf(code) - mpmath.log(mpf(claim["delta"]))
        claim["empirical"] = up(mean, 10)
        if claim["loss"] == "cost":
            claim["bound"] = kl_inverse(mean, level / claim["m"])
        elif claim["errors"] == claim["m"]:
            claim["bound"] = "1.0000000000"
        else:
            claim["bound"] = binomial_limit(claim["errors"], claim["m"], level)
    overall, _, _, north = (up(mpf(claim["bound"]) * 100, 2) for claim in record["claims"])
    record["sentence"] = (
        "With probability at least 95 % over the draw of the 100 counted examples, the following "
        "holds for the fixed predictor on new data from the same distribution: its mean cost "
        f"“time” is at most {overall} % of the unit; its error in each of 2 groups is at most "
        f"100.00 %; its mean cost “time” in the group “north” is at most {north} % of the unit. "
        "The predictor was learned from the other 43 examples of the data set."
    )
    return record


MAKERS = (fixed, gibbs, draw, tandem, density, centre)


@cache
def _good() -> dict[str, str]:
    return {make.__name__: json.dumps(make()) for make in MAKERS}


def good(name: str) -> Record:
    """A certificate that is accepted, to be changed at will; each is computed once."""
    record: Record = json.loads(_good()[name])
    return record


# ---- forgeries -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forgery:
    """A change to a good certificate, and the check that finds it."""

    name: str
    check: str
    content: bytes


def _put(record: Record, path: str, value: Any) -> None:
    """Set, or with `...` remove, what is at a path such as `claims.0.m`."""
    *way, last = path.split(".")
    place: Any = record
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place[step]
    if value is ...:
        del place[int(last) if isinstance(place, list) else last]
    else:
        place[int(last) if isinstance(place, list) else last] = value


def _raw_forgeries() -> list[Forgery]:
    """Files that fail before their fields are looked at; by hand from section 1 of SPEC.md."""
    text = examples()[0]
    good = text.encode()

    def replaced(old: str, new: str) -> bytes:
        assert old in text
        return text.replace(old, new, 1).encode()

    depth = '"x": ' + "[" * 8 + "]" * 8 + ', "predictor"'
    contents = {
        "more than 4 MiB": ("1.1", good + b" " * (4_194_305 - len(good))),
        "not UTF-8": ("1.2", good.replace(b"letters", b"lett\xffers")),
        "an overlong form": ("1.2", good.replace(b"letters", b"lett\xc0\xafers")),
        "an encoded surrogate": ("1.2", good.replace(b"letters", b"lett\xed\xa0\x80ers")),
        "nested 9 deep": ("1.3", replaced('"predictor"', depth)),
        "nested deeply and not JSON": ("1.3", b"[" * 100_000),
        "brackets after the end": ("1.3", good + b"[[[[[[[[["),
        "a byte order mark": ("1.4", b"\xef\xbb\xbf" + good),
        "nothing": ("1.4", b""),
        "cut": ("1.4", good[:900]),
        "a trailing comma": ("1.4", replaced('"settings": {}', '"settings": {},')),
        "NaN": ("1.4", replaced('"errors": 3', '"errors": NaN')),
        "a comment": ("1.4", replaced('"errors": 3', '"errors": 3 // three')),
        "a leading zero": ("1.4", replaced('"errors": 3', '"errors": 03')),
        "a plus sign": ("1.4", replaced('"errors": 3', '"errors": +3')),
        "a raw line feed in a string": ("1.4", replaced("letters", "lett\ners")),
        "a bad escape": ("1.4", replaced("letters", "lett\\x41ers")),
        "two values": ("1.4", good + good),
        "a no-break space around it": ("1.4", good + "\u00a0".encode()),
        "single quotes": ("1.4", b"{'format': 1}"),
        "bad syntax and a bad number": ("1.4", b'{"format": 1.0,}'),
        "-0": ("1.5", replaced('"errors": 3', '"errors": -0')),
        "1.0": ("1.5", replaced('"errors": 3', '"errors": 3.0')),
        "1e3": ("1.5", replaced('"examples": 100', '"examples": 1e2')),
        "2^53": ("1.5", replaced('"errors": 3', '"errors": 9007199254740992')),
        "a number of 100 000 digits": (
            "1.5",
            replaced('"errors": 3', '"errors": ' + "9" * 100_000),
        ),
        "a bad number and a name twice": ("1.5", b'{"a": 1.5, "a": 1}'),
        "a name twice": ("1.6", replaced('"errors": 3', '"errors": 3, "errors": 3')),
        "a name twice, once escaped": (
            "1.6",
            replaced('"errors": 3', '"errors": 3, "\\u0065rrors": 3'),
        ),
        "__proto__ twice": ("1.6", replaced('"errors": 3', '"__proto__": 3, "__proto__": 3')),
        "an array": ("1.7", b"[]"),
        "a number": ("1.7", b"9007199254740991"),
        "no format": ("1.7", b"{}"),
        "format 1": ("1.7", replaced("pacbound-certificate/2", "pacbound-certificate/1")),
        "a format that is an array": ("1.7", b'{"format": ["pacbound-certificate/2"]}'),
        "only a format": ("2.2", b'{"format": "pacbound-certificate/2"}'),
        "__proto__": ("2.3", replaced('"errors": 3', '"errors": 3, "__proto__": {}')),
        "a lone surrogate in a text": ("2.6", replaced("letters", "lett\\ud800ers")),
        "a lone surrogate in the sentence": ("13.1", replaced("With", "\\ud800With")),
    }
    return [Forgery(name, check, content) for name, (check, content) in contents.items()]


# (base, check, {path: value}); each expected check was derived from SPEC.md by hand.
CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("fixed", "2.1", {"data": []}),
    ("fixed", "2.1", {"claims.0": 3}),
    ("fixed", "2.1", {"made.software": "x"}),
    ("fixed", "2.2", {"sentence": ...}),
    ("fixed", "2.2", {"claims.1.group": ...}),
    ("fixed", "2.2", {"claims.0.errors": ..., "claims.0.total": "3"}),
    ("gibbs", "2.2", {"claims.0.sampler": "per-weights"}),
    ("gibbs", "2.2", {"prior.kind": "elsewhere"}),
    ("fixed", "2.3", {"claims.0.limit": "0.0400000000"}),
    ("fixed", "2.3", {"evidence": {}}),
    ("fixed", "2.3", {"claims.0.class": 0}),
    ("gibbs", "2.3", {"seeds.kl": "0" * 64}),
    ("gibbs", "2.3", {"claims.0.histogram": [[0, 1]]}),
    ("gibbs", "2.3", {"prior.choices.split_seed": 0}),
    ("fixed", "2.4", {"claims.0.m": "100"}),
    ("fixed", "2.4", {"claims.0.m": 0}),
    ("fixed", "2.4", {"data.classes": 1}),
    ("fixed", "2.4", {"claims.0.errors": True}),
    ("fixed", "2.4", {"claims.0.errors": None}),
    ("gibbs", "2.4", {"claims.0.draws": 10**15 + 1}),
    ("fixed", "2.5", {"delta": "0.5"}),
    ("fixed", "2.5", {"delta": "0"}),
    ("fixed", "2.5", {"delta": 5}),
    ("fixed", "2.5", {"delta": "0.05\n"}),
    ("fixed", "2.5", {"delta": "00.05"}),
    ("fixed", "2.5", {"delta": "0.0" + "5" * 30}),
    ("fixed", "2.5", {"claims.0.bound": "0.099745002"}),
    ("fixed", "2.5", {"claims.0.bound": "1.0000000001"}),
    ("fixed", "2.5", {"bound.code": "-0.000000"}),
    ("fixed", "2.5", {"model.answer_above": "1.1"}),
    ("gibbs", "2.5", {"evidence.groups.0.trace": "0.0"}),
    ("gibbs", "2.5", {"evidence.groups.0.distance_sq": "-0"}),
    ("gibbs", "2.5", {"evidence.groups.0.log_det": "-0.00"}),
    ("fixed", "2.6", {"data.name": ""}),
    ("fixed", "2.6", {"data.name": "x" * 201}),
    ("fixed", "2.6", {"data.name": "\u202edesrever"}),
    ("fixed", "2.6", {"claims.1.group": "north” is at most 1 %; “"}),
    ("fixed", "2.6", {"data.name": "\U000e0041"}),
    ("fixed", "2.6", {"made.settings": {"a": 1}}),
    ("fixed", "2.6", {"sentence": "\U0001f642" * 20_001}),
    ("fixed", "2.7", {"data.sha256": "0" * 63}),
    ("fixed", "2.7", {"data.sha256": "A" * 64}),
    ("fixed", "2.7", {"data.groups_sha256": "none"}),
    ("fixed", "2.8", {"predictor": "vote"}),
    ("fixed", "2.8", {"prior.kind": "initialised"}),
    ("fixed", "2.8", {"claims.0.loss": 0}),
    ("fixed", "2.8", {"bound.inequality": "pinsker"}),
    ("gibbs", "2.8", {"evidence.kind": "drawn"}),
    ("gibbs", "2.8", {"prior.choices.input_scale": "1.0"}),
    ("fixed", "2.9", {"claims": []}),
    ("fixed", "2.9", {"also": {}}),
    ("fixed", "2.9", {"model.extractors": [{"sha256": "0" * 64, "origin": "x"}] * 9}),
    ("tandem", "2.9", {"claims.0.histogram.1": [1]}),
    ("tandem", "2.9", {"prior.choices.blocks.0.sizes": [600]}),
    ("fixed", "2.10", {"made.settings": {"é": "x"}}),
    ("fixed", "2.10", {"made.settings": {"": "x"}}),
    ("fixed", "2.10", {"made.settings": {f"s{i}": "x" for i in range(301)}}),
    ("fixed", "2.10", {"made.settings": {"a": 1, "b\n": "x"}}),
    ("fixed", "3.1", {"data.duplicates": 100}),
    ("fixed", "3.2", {"data.duplicates": 2}),
    ("gibbs", "3.2", {"data.duplicates": 11}),
    ("gibbs", "3.3", {"data.copies": "unknown", "data.duplicates": 0}),
    ("fixed", "3.3", {"data.copies": "unknown", "data.duplicates": 1}),
    ("fixed", "3.3", {"data.copies": "unknown", "model.source": "onnx"}),
    ("tandem", "3.4", {"prior.part.examples": 19_999}),
    ("centre", "3.4", {"prior.part.examples": 42}),
    ("fixed", "3.5", {"data.m": 99}),
    ("tandem", "3.5", {"data.m": 40_000}),
    ("gibbs", "4.1", {"model.structure_sha256": "0" * 64}),
    ("gibbs", "4.1", {"model.network": "module"}),
    ("fixed", "4.2", {"model.source": "centre", "model.recipe": "table"}),
    ("centre", "4.2", {"model.source": "onnx", "model.recipe": ...}),
    ("gibbs", "4.3", {"model.answer_above": "0.5"}),
    ("gibbs", "4.4", {"model.posterior": "k-nonlinear"}),
    ("tandem", "4.4", {"model.posterior": "diag"}),
    ("tandem", "4.5", {"prior.validation.errors": 501}),
    ("tandem", "4.6", {"prior.validation.examples": 20_001}),
    (
        "gibbs",
        "4.7",
        {"prior.variances.0": {"name": "1", "parameters": 22, "by": "given", "value": "0.1"}},
    ),
    ("draw", "4.8", {"prior.variances.1.name": "first"}),
    ("gibbs", "4.9", {"model.parameters": 23}),
    (
        "gibbs",
        "4.10",
        {"evidence.groups": [{"trace": "1", "distance_sq": "1", "log_det": "1"}] * 2},
    ),
    ("draw", "4.11", {"prior.choices.variance_groups": "network"}),
    ("tandem", "4.12", {"prior.choices.blocks.1.layer": 1}),
    ("gibbs", "5.1", {"claims.1.subject": "predicted-class"}),
    ("gibbs", "5.1", {"claims.0.loss": "abstention"}),
    ("draw", "5.1", {"claims.2.loss": "abstention"}),
    ("draw", "5.2", {"model.answer_above": ""}),
    ("gibbs", "5.3", {"claims.2.class": 2}),
    ("gibbs", "5.4", {"claims.1.class": 1}),
    ("centre", "5.4", {"claims.2.group": "a"}),
    ("centre", "5.4", {"claims.1.group": "\U00010000", "claims.2.group": "\uffee"}),
    ("fixed", "5.5", {"claims.0.m": 99}),
    ("fixed", "5.5", {"claims.1.m": 101}),
    ("gibbs", "5.6", {"claims.1.m": 601}),
    ("gibbs", "5.6", {"claims.1.m": 599}),
    ("centre", "5.7", {"claims.1.m": 41}),
    ("fixed", "5.8", {"data.groups_sha256": ""}),
    ("gibbs", "5.8", {"data.groups_sha256": "0" * 64}),
    ("gibbs", "5.9", {"model.network": "lenet"}),
    ("fixed", "6.1", {"claims.0.delta": "0.03"}),
    ("fixed", "6.1", {"delta": "0.050000000000000000000000000001"}),
    ("gibbs", "6.1", {"claims.0.delta_risk": "0.004"}),
    ("tandem", "6.1", {"evidence.delta_kl": "0.004"}),
    ("draw", "7.1", {"seeds.draw": "0" * 64}),
    ("gibbs", "7.2", {"seeds.risk": "0" * 64}),
    ("gibbs", "7.2", {"data.sha256": "0" * 64}),
    ("tandem", "7.3", {"seeds.kl": "0" * 64}),
    ("gibbs", "8.1", {"bound.code": "11.122031"}),
    ("gibbs", "8.1", {"bound.code": "11.122034"}),
    ("gibbs", "8.1", {"prior.choices.seed": 1}),
    ("gibbs", "8.1", {"model.recipe": "module"}),
    ("gibbs", "8.1", {"prior.variances.0.index": 149}),
    ("fixed", "8.1", {"bound.code": "0.000002"}),
    ("fixed", "8.2", {"bound.ledger": "1.609437"}),
    ("fixed", "8.2", {"ledger.user.candidates": 6}),
    ("fixed", "8.2", {"ledger.certificates.number": 2}),
    ("gibbs", "8.2", {"ledger.recipe.looks": 1}),
    ("gibbs", "9.1", {"evidence.groups.0.log_det": "-49"}),
    ("tandem", "9.2", {"evidence.groups.0.log_det": "-100"}),
    ("draw", "9.3", {"evidence.groups.1.noise_sq": "123"}),
    ("density", "9.3", {"evidence.groups.0.noise_sq": "190"}),
    ("gibbs", "9.4", {"evidence.nats": "29.913809"}),
    ("gibbs", "9.4", {"evidence.nats": "29.913812"}),
    ("gibbs", "9.4", {"evidence.groups.0.trace": "0.26"}),
    ("draw", "9.4", {"evidence.groups.0.noise_sq": "19.4"}),
    ("tandem", "9.4", {"evidence.tail": "theorem3"}),
    ("fixed", "10.1", {"claims.0.errors": 101}),
    ("gibbs", "10.1", {"claims.0.errors": 100001}),
    ("draw", "10.2", {"claims.3.total": "900.1"}),
    ("gibbs", "10.3", {"claims.0.draws": 100001}),
    ("tandem", "10.4", {"claims.0.histogram.1": [0, 200]}),
    ("tandem", "10.4", {"claims.0.histogram.3": [51, 20]}),
    ("tandem", "10.4", {"claims.0.histogram.1": [1, 0]}),
    ("fixed", "10.5", {"claims.0.empirical": "0.0300000002"}),
    ("fixed", "10.5", {"claims.0.empirical": "0.0299999999"}),
    ("gibbs", "10.5", {"claims.0.errors": 1000}),
    ("draw", "10.5", {"claims.3.total": "12.6"}),
    ("gibbs", "10.6", {"claims.0.limit": "0.0625909737"}),
    ("tandem", "10.6", {"claims.1.limit_by": "betting"}),
    ("tandem", "10.7", {"claims.0.limit_by": "chernoff"}),
    ("gibbs", "10.7", {"claims.0.limit": "0.0625909740"}),
    ("gibbs", "10.6", {"ledger.certificates.number": 2}),
    ("gibbs", "11.1", {"bound.inequality": "binomial"}),
    ("fixed", "11.1", {"bound.inequality": "xi"}),
    ("gibbs", "11.2", {"bound.inequality": "catoni"}),
    ("tandem", "11.2", {"prior.validation": {"examples": 0, "errors": 0}}),
    ("gibbs", "11.3", {"bound.inequality": "maurer"}),
    ("gibbs", "11.3", {"bound.selected": "beforehand"}),
    ("draw", "11.3", {"bound.inequality": "density"}),
    ("gibbs", "11.4", {"bound.inequality": "maurer", "bound.selected": "candidate"}),
    ("gibbs", "11.5", {"bound.inequality": "maurer", "bound.selected": "beforehand"}),
    ("fixed", "11.5", {"claims.1.bound": "0.1438975322"}),
    ("gibbs", "11.5", {"claims.2.bound": "0.3046355139"}),
    ("tandem", "11.5", {"claims.0.bound": "0.5211709003"}),
    ("fixed", "11.6", {"claims.0.bound": "0.0997450019"}),
    ("gibbs", "11.6", {"claims.0.bound": "1.0000000000"}),
    ("fixed", "12.1", {"also": [{"kind": "theorem3", "nats": "1.000000"}]}),
    ("gibbs", "12.1", {"also.0.name": "catoni"}),
    ("gibbs", "12.1", {"also.0.name": "density"}),
    (
        "tandem",
        "12.1",
        {"also.3": {"kind": "held-out", "examples": 1, "errors": 0, "upper": "0.9600000000"}},
    ),
    ("gibbs", "12.2", {"also.1.name": "mcallester"}),
    ("gibbs", "12.3", {"also.0.value": "0.1726708082"}),
    ("gibbs", "12.3", {"also.1.value": "0.2262723422"}),
    ("gibbs", "12.3", {"also.0.name": "xi"}),
    ("gibbs", "12.4", {"also.2.errors": 501}),
    ("gibbs", "12.5", {"also.2.upper": "0.0849159639"}),
    ("gibbs", "12.5", {"also.2.errors": 30}),
    ("tandem", "12.6", {"also.3.nats": "100.000000"}),
    ("fixed", "13.1", {"sentence": "The error is at most 1 %."}),
    ("fixed", "13.1", {"ledger.certificates.counted": "declared", "claims.1.group": "south"}),
    ("fixed", "13.1", {"model.answer_above": "0.5"}),
    ("gibbs", "13.1", {"data.duplicates": 6}),
    ("gibbs", "13.1", {"data.copies": "independent"}),
    ("draw", "13.1", {"prior.origin": "elsewhere"}),
]


# Changes that leave a certificate good: SPEC.md allows one unit more than rounding up gives.
HARMLESS: list[tuple[str, dict[str, Any]]] = [
    ("fixed", {"claims.0.bound": "0.0997450018"}),
    ("fixed", {"claims.0.empirical": "0.0300000001"}),
    ("fixed", {"data.name": "\U0001f642" * 200}),
    ("fixed", {"made.settings": {f"s{i}": "x" * 2000 for i in range(300)}}),
    ("fixed", {"claims.0.delta": "0.040000000000000000000000000000"}),
    ("gibbs", {"also.2.upper": "0.0849159638"}),
    ("gibbs", {"also.0.value": "0.1726708084"}),
    ("gibbs", {"model.network": "mlp", "model.frozen": 10**12}),
    ("gibbs", {"also": []}),
]


def harmless() -> list[tuple[str, bytes]]:
    """Certificates that are accepted, by name."""
    found = [(name, text.encode()) for name, text in _good().items()]
    found += [(f"example {i}", text.encode()) for i, text in enumerate(examples(), 1)]
    for base, changes in HARMLESS:
        record = good(base)
        for path, value in changes.items():
            _put(record, path, value)
        found.append((f"{base}: {', '.join(changes)}", json.dumps(record).encode()))
    escaped = "".join(f"\\u{ord(x):04x}" for x in "sentence")
    found.append(("an escaped name", examples()[0].replace("sentence", escaped, 1).encode()))
    turned = dict(reversed(gibbs().items()))
    found.append(("fields in another order", json.dumps(turned, ensure_ascii=False).encode()))
    return found


def forgeries() -> list[Forgery]:
    """All of them; every content is of its own."""
    found = _raw_forgeries()
    # A determinant that is larger by 150 nats, with the figure of `density` that follows from it.
    low = str(Decimal(good("density")["evidence"]["nats"]) - 150)
    determinant = {"evidence.groups.0.log_det": "99.75", "evidence.nats": low}
    for base, check, changes in [*CHANGES, ("density", "9.5", determinant)]:
        record = good(base)
        for path, value in changes.items():
            _put(record, path, value)
        name = f"{base}: " + ", ".join(f"{path}={value!r:.40}" for path, value in changes.items())
        found.append(Forgery(name, check, json.dumps(record, ensure_ascii=False).encode()))
    return found
