"""Seeded mutations of certificates, by their structure and by their bytes.

A mutation of one number is nearly always caught by the number that follows from it. So some mutants
are forged with more care: everything that follows is written anew, a little above or below what is
due, and the sentence with it.
"""

from __future__ import annotations

import copy
import json
import math
import random
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from flint import arb
from independent_oracle import implied_complexity, implied_kl, read

from pacbound.certificate.checker import sentence

__all__ = ["Mutant", "damaged_bytes", "mutant"]

Mutant: TypeAlias = tuple[str, bytes]  # how it was made, and the file
Place: TypeAlias = tuple[Any, Any]  # what holds a value, and the key there

RAW = "\ue000"  # marks text that is to stand in the file without its quotes
ODD_NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "1e999999999", "1e-999999999", "-0.0", "0e999999999"),
    *("1e400", "1e401", "1e-400", "1E+15", "1000000000000001", "9" * 60, "9" * 61, "9" * 5000),
    *("0." + "3" * 58, "0." + "3" * 5000, "1e", "01", "+1", ".5", "0x1", "-", "1_000", "٣"),
    *("1e3", "1.0", "0", "-1", "true", "null", "0.1e1", "100.0", "4.9e-324", "1.8e308"),
)
ODD_TEXTS = ("", "\x00", "\ud800", "\udfff\ud800", "\u202e", "\x1b[2J", "a" * 5000, "ﬀ", "𝟏", "é́")
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [1],
    {"a": 1},
    "1",
    "gibbs",
    *ODD_TEXTS,
)


def places(value: Any) -> list[Place]:
    """Every place in the structure."""
    found: list[Place] = []
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            found += places(value[key])
    return found


def mutant(records: list[dict[str, Any]], draw: random.Random) -> Mutant:
    """One mutated certificate."""
    record = copy.deepcopy(draw.choice(records))
    if draw.random() < 0.12:
        text = json.dumps(record, ensure_ascii=draw.random() < 0.5).encode()
        return "bytes", damaged_bytes(text, draw)
    names = []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        name = draw.choice(list(MUTATIONS))
        MUTATIONS[name](record, records, draw)
        names.append(name)
    if draw.random() < 0.45:
        names.append("forged")
        _forge(record, draw)
    if draw.random() < 0.6:
        _with_its_sentence(record)
    return "+".join(names), _written(record, draw)


def _written(record: Any, draw: random.Random) -> bytes:
    text = _text(record)
    if draw.random() < 0.1:
        text = re.sub(r"\\u[0-9a-f]{4}", lambda escape: json.loads(f'"{escape[0]}"'), text)
    if draw.random() < 0.03:
        text = draw.choice((_twice, _with_mark, _nested, _padded))(text, draw)
    return text.encode("utf-8", draw.choice(("replace", "surrogatepass")))


def _text(record: Any) -> str:
    return re.sub(r'"\\ue000([^"]*)"', r"\1", json.dumps(record))


def _twice(text: str, draw: random.Random) -> str:
    """A field twice in one object, the second time perhaps with another value."""
    start = draw.choice([i for i, x in enumerate(text) if x == "{"] or [0])
    name, value = draw.choice(("risk_bound", "delta", "upper", "m")), draw.choice(("0.001", "1"))
    return f'{text[: start + 1]}"{name}": {value}, {text[start + 1 :]}'


def _with_mark(text: str, draw: random.Random) -> str:
    return draw.choice(("\ufeff", "\x00", "\x0c", "\u00a0", "//\n")) + text


def _nested(text: str, draw: random.Random) -> str:
    depth = draw.choice((10, 100, 990, 1000, 5000))
    return text.replace("null", "[" * depth + "]" * depth, 1)


def _padded(text: str, draw: random.Random) -> str:
    return text + draw.choice((" " * 1000, "\n{}", "]", "\x00", text))


# By structure


def _replace(record: Any, records: Any, draw: random.Random) -> None:
    holder, key = draw.choice(places(record))
    holder[key] = copy.deepcopy(draw.choice(ODD_VALUES))


def _odd_number(record: Any, records: Any, draw: random.Random) -> None:
    holder, key = draw.choice(_numbers(record) or places(record))
    holder[key] = RAW + draw.choice(ODD_NUMBERS)


def _numbers(record: Any) -> list[Place]:
    found = [(h, k) for h, k in places(record) if type(h[k]) in (int, float)]
    # a histogram's counts would drown everything else
    few = [(h, k) for h, k in found if isinstance(h, dict)]
    return few + found[:: max(len(found) // 20, 1)]


def _nudge(record: Any, records: Any, draw: random.Random) -> None:
    """A number a little, or a lot, in either direction."""
    holder, key = draw.choice(_numbers(record) or places(record))
    value, sign = holder[key], draw.choice((-1, 1))
    if type(value) is int:
        step = draw.choice((1, 1, 2, 10, max(abs(value) // 10, 1), 10**6, 10**15, 10**30))
        holder[key] = value + sign * step
    elif type(value) is float:
        size = draw.choice((1e-16, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.99, 10.0, 1e9))
        holder[key] = value * (1 + sign * size) if math.isfinite(value) else 0.5
        if draw.random() < 0.1:
            holder[key] = draw.choice((0, 0.0, -value, 1, 1.0, 1e-300, 1e300, int(min(value, 1e9))))


def _tuned(record: Any, records: Any, draw: random.Random) -> None:
    """Evidence made better: fewer errors, a smaller KL, more draws, a choice of another price."""
    risk, kl, prior = record.get("risk"), record.get("kl"), record.get("prior")
    if not all(isinstance(x, dict) for x in (risk, kl, prior)):
        return
    kind = draw.randrange(7)
    groups = kl.get("groups") if isinstance(kl.get("groups"), list) else []
    if kind == 0 and type(risk.get("errors")) is int:
        risk["errors"] = int(risk["errors"] * draw.choice((0, 0.5, 0.9, 1.1)))
    elif kind == 1 and groups and isinstance(groups[0], dict):
        group = draw.choice([g for g in groups if isinstance(g, dict)])
        name = draw.choice(list(group) or ["trace"])
        if type(group.get(name)) is float:
            group[name] *= draw.choice((0.5, 0.9, 0.999, 1.001, 1.1, 2, -1))
    elif kind == 2 and type(risk.get("draws")) is int:
        risk["draws"] *= draw.choice((2, 10, 1000))
    elif kind == 3 and isinstance(prior.get("choices"), list) and prior["choices"]:
        entry = draw.choice(prior["choices"])
        if isinstance(entry, dict):
            new = (0, 1, 2, 0.7, 0.70000000000000001, 600, "mlp", "lenet", "none", "network")
            entry["value"] = draw.choice(new)
            entry["index"] = draw.choice((1, 2, 3, entry.get("index", 1)))
    elif kind == 4 and isinstance(prior.get("variances"), list) and prior["variances"]:
        entry = draw.choice(prior["variances"])
        if isinstance(entry, dict) and type(entry.get("index")) is int:
            entry["index"] = max(entry["index"] + draw.choice((-50, -1, 1, 50, 10**9)), 0)
            entry["value"] = 0.1 * math.exp(-min(entry["index"], 70_000) / 100)
    elif kind == 5:
        prior["trials"] = draw.choice((1, 2, 100))
    elif isinstance(risk.get("counts"), list):
        risk["counts"] = draw.choice(([[0, 1]], [[0, risk.get("draws", 1)]], risk["counts"][:3]))


def _budget(record: Any, records: Any, draw: random.Random) -> None:
    shares = ("0.025", "0.035", "0.01", "0", "0.5", "1e-30", "0.999", "0.0350000000000000000000001")
    if isinstance(record.get("budget"), dict) and isinstance(record.get("claim"), dict):
        share = draw.choice(("pac_bayes", "risk", "kl"))
        record["budget"][share] = RAW + draw.choice(shares)
        if draw.random() < 0.5:
            record["claim"]["delta"] = RAW + draw.choice(shares)


def _delete(record: Any, records: Any, draw: random.Random) -> None:
    holder, key = draw.choice(places(record) or [({0: 0}, 0)])
    del holder[key]


def _duplicate(record: Any, records: Any, draw: random.Random) -> None:
    arrays = [h[k] for h, k in places(record) if isinstance(h[k], list) and h[k]]
    if arrays:
        array = draw.choice(arrays)
        array.insert(draw.randrange(len(array) + 1), copy.deepcopy(draw.choice(array)))


def _swap(record: Any, records: Any, draw: random.Random) -> None:
    here = places(record)
    if len(here) > 1:
        (a, i), (b, j) = draw.sample(here, 2)
        a[i], b[j] = copy.deepcopy(b[j]), copy.deepcopy(a[i])


def _splice(record: Any, records: Any, draw: random.Random) -> None:
    """A part of another certificate in the place of the same part here."""
    other = draw.choice(records)
    shared = [name for name in record if name in other]
    if not shared:
        return
    name = draw.choice(shared)
    mine, theirs = record[name], other[name]
    if isinstance(mine, dict) and isinstance(theirs, dict) and draw.random() < 0.5:
        inner = [key for key in mine if key in theirs]
        if inner:
            key = draw.choice(inner)
            mine[key] = copy.deepcopy(theirs[key])
            return
    record[name] = copy.deepcopy(theirs)


def _add(record: Any, records: Any, draw: random.Random) -> None:
    objects = [record, *(h[k] for h, k in places(record) if isinstance(h[k], dict))]
    draw.choice(objects)[draw.choice(("note", "upper", "m", "__class__", *ODD_TEXTS))] = 1


def _predictor(record: Any, records: Any, draw: random.Random) -> None:
    if isinstance(record.get("claim"), dict):
        kinds = ("gibbs", "draw", "vote-gibbs", "vote-tandem")
        record["claim"]["predictor"] = draw.choice(kinds)


MUTATIONS: dict[str, Callable[[Any, Any, random.Random], None]] = {
    "replace": _replace,
    "odd number": _odd_number,
    "nudge": _nudge,
    "nudge again": _nudge,
    "tuned": _tuned,
    "tuned again": _tuned,
    "budget": _budget,
    "delete": _delete,
    "duplicate": _duplicate,
    "swap": _swap,
    "splice": _splice,
    "add": _add,
    "predictor": _predictor,
}


# With care


def _with_its_sentence(record: dict[str, Any]) -> None:
    try:
        record["claim"]["sentence"] = sentence(json.loads(_text(record), parse_float=str))
    except Exception:
        return  # it has none


def _forge(record: dict[str, Any], draw: random.Random) -> None:
    """Everything that follows from the primitives, at what is due times 1 ± a little."""
    slack = draw.choice((-1e-3, -1e-6, -1e-9, 1e-13, 1e-12, 1e-9, 1e-6, 1e-2))
    only = draw.choice(("kl", "risk", "complexity", "value", "claim", "", ""))

    def due(part: str, number: float) -> float:
        moved = slack if only in (part, "") else 1e-11
        return number * (1 + moved) if number >= 0 else number * (1 - moved)

    try:
        exact = read(_text(record))
        kl, risk = record["kl"], record["risk"]
        for tail in ("gaussian", "theorem3") if kl["method"] == "monte-carlo" else ():
            kl[tail]["upper"] = due("kl", float(implied_kl(exact, tail)))
        kl["upper"] = due("kl", float(implied_kl(exact)))
        risk["upper"] = min(due("risk", _risk_due(exact)), 1.0)
        exact = read(_text(record))
        complexity = max(float(implied_complexity(exact, arb(kl["upper"]))), 0.0)
        record["bound"]["complexity"] = due("complexity", complexity)
        value = _inverse(risk["upper"], record["bound"]["complexity"])
        record["bound"]["value"] = min(due("value", value), 1.0)
        times = {"vote-gibbs": 2, "vote-tandem": 4}.get(record["claim"]["predictor"], 1)
        record["claim"]["risk_bound"] = min(due("claim", times * record["bound"]["value"]), 1.0)
        if record["also"]["maurer"] is not None:
            record["also"] |= {"maurer": 1, "mcallester": 1, "pinsker": 1}
            record["also"]["catoni"]["value"] = 1
    except Exception:
        return  # there is nothing that follows from such primitives


def _risk_due(record: dict[str, Any]) -> float:
    risk, share = record["risk"], record["budget"]["risk"]
    if risk["sampler"] == "whole-set":
        return float(risk["errors"] / record["data"]["m"])
    level = -math.log(share)
    if risk["sampler"] == "per-example":
        return _inverse(risk["errors"] / risk["draws"], level / risk["draws"])
    counts, batch = risk["counts"], risk["batch"]
    if risk["limit"] == "betting":
        return _smallest(
            0.0, lambda p: sum(n * math.log(1 - x / batch + p + 1e-300) for x, n in counts) >= level
        )
    mean = sum(x * n for x, n in counts) / batch / risk["draws"]
    return _inverse(mean, level / risk["draws"])


def _inverse(q: float, complexity: float) -> float:
    def enough(p: float) -> bool:
        heads = q * math.log(q / p) if q else 0.0
        return heads + (1 - q) * math.log((1 - q) / (1 - p)) >= complexity

    return _smallest(q, enough) if q < 1 else 1.0


def _smallest(low: float, enough: Callable[[float], bool]) -> float:
    high = 1.0
    while high - low > 1e-16 and low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


# By bytes


def damaged_bytes(content: bytes, draw: random.Random) -> bytes:
    """Bits flipped, bytes set, parts cut out, doubled, moved, or the end cut off."""
    damaged = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        if not damaged:
            return b""
        at, size = draw.randrange(len(damaged)), draw.choice((1, 2, 8, 100, 1000))
        kind = draw.randrange(7)
        if kind == 0:
            damaged[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            damaged[at] = draw.choice(b'0123456789.-eE"{}[],:ntf \x00\xff')
        elif kind == 2:
            del damaged[at : at + size]
        elif kind == 3:
            damaged[at:at] = damaged[at : at + size]
        elif kind == 4:
            start = draw.randrange(len(damaged))
            damaged[at : at + size] = damaged[start : start + size]
        elif kind == 5:
            damaged[at : at + size] = draw.randbytes(min(size, 8))
        else:
            end = draw.choice((at, len(damaged) - draw.randrange(1, 200)))
            del damaged[max(end, 0) :]
    return bytes(damaged)
