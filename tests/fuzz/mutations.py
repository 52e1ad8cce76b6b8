"""Seeded mutations of certificates, by their structure and by their bytes.

A mutation of one number is nearly always caught by the number that follows from it. So some mutants
are forged with more care: everything that follows is computed anew by the builder of the vectors,
in mpmath, and shown as it is due or some units off.
"""

from __future__ import annotations

import copy
import json
import random
import re
import sys
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).parents[1] / "certificate"))

import building

__all__ = ["Mutant", "damaged_bytes", "mutant"]

Mutant: TypeAlias = tuple[str, bytes]  # how it was made, and the file
Place: TypeAlias = tuple[Any, Any]  # what holds a value, and the key there

RAW = "\ue000"  # marks text that is to stand in the file without its quotes
ODD_NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "1e999999999", "1e-999999999", "-0.0", "-0", "0e9"),
    *("9007199254740991", "9007199254740992", "-9007199254740992", "9" * 60, "9" * 5000),
    *("0." + "3" * 58, "1e", "01", "+1", ".5", "0x1", "-", "1_000", "٣", "1.", "1e3", "1.0"),
    *("0", "-1", "true", "null", "100.0", "1000000000000000", "1000000000000001"),
)
ODD_DECIMALS = (
    *("0", "-0", "0.0", "-0.0", "-0.000000", "1", "1.0000000000", "0.0000000000", "0.9999999999"),
    *("1.0000000001", "-0.0000000001", "0.5", "0.4999", "00.5", "1e-3", "NaN", "Infinity", " 0.1"),
    *("0.1 ", "0,1", "٠.١", "0." + "1" * 30, "0." + "1" * 31, "9" * 18, "9" * 19, "+0.1", ".1"),
    *("0.1\n", "0.000000", "-0.000001", "999999999999999.999999", "9999999999999999.000000"),
)
ODD_TEXTS = (
    *("", "\x00", "\ud800", "\udfff\ud800", "\ud83d\ude00", "\u202e", "\x1b[2J", "a" * 5000),
    *("ﬀ", "𝟏", "é́", "“", "”", "\ufeff", "\u00ad", "\U000e0001", "\u2028", "\x7f", "\x85", "🙂"),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, [], {}, [[]], [1], {"a": 1}, "1", "gibbs", 0, 1, -1),
    *ODD_TEXTS,
)
WORDS = (
    *("gibbs", "draw", "vote-gibbs", "vote-tandem", "fixed", "all", "answered", "true-class"),
    *("predicted-class", "group", "zero-one", "abstention", "cost", "counted", "independent"),
    *("unknown", "none", "initialised", "learned", "elsewhere", "grid", "given", "declared"),
    *("place", "exact", "monte-carlo", "drawn", "gaussian", "theorem3", "betting", "chernoff"),
    *("mcallester", "maurer", "xi", "catoni", "binomial", "density", "pinsker", "rule"),
    *("beforehand", "candidate", "per-example", "per-weights", "layer", "network", "0.5", "0.7"),
    *("table", "module", "mlp-600", "mlp", "lenet", "k-nonlinear", "diag", "centre", "predictions"),
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
    for _ in range(draw.choice((0, 1, 1, 1, 1, 2, 3))):
        name = draw.choice(list(MUTATIONS))
        MUTATIONS[name](record, records, draw)
        names.append(name)
    if draw.random() < 0.3:
        names.append("forged")
        record = _forged(record, draw)
    return "+".join(names) or "as it is", _written(record, draw)


def _forged(record: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """With every figure that follows, as it is due or some units more or less."""
    units = draw.choice((0, 0, 0, 0, 1, 1, -1, 2))
    try:
        if draw.random() < 0.5:
            record = {name: value for name, value in record.items() if name != "delta"}
        return building.finish(record, units)
    except Exception:  # primitives of which nothing follows
        return record


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
    name, value = (
        draw.choice(("bound", "delta", "m", "f\\u006frmat")),
        draw.choice(('"0.001"', "1")),
    )
    return f'{text[: start + 1]}"{name}": {value}, {text[start + 1 :]}'


def _with_mark(text: str, draw: random.Random) -> str:
    return draw.choice(("\ufeff", "\x00", "\x0c", "\u00a0", "//\n", "\t\r\n ")) + text


def _nested(text: str, draw: random.Random) -> str:
    depth = draw.choice((1, 3, 4, 5, 6, 7, 8, 10, 100, 5000))
    return text.replace("[]", "[" * depth + "]" * depth, 1)


def _padded(text: str, draw: random.Random) -> str:
    return text + draw.choice((" " * 1000, "\n{}", "]", "\x00", "\u00a0", text))


# By structure


def _replace(record: Any, records: Any, draw: random.Random) -> None:
    holder, key = draw.choice(places(record))
    holder[key] = copy.deepcopy(draw.choice(ODD_VALUES))


def _odd_number(record: Any, records: Any, draw: random.Random) -> None:
    holder, key = draw.choice(_integers(record) or places(record))
    holder[key] = RAW + draw.choice(ODD_NUMBERS)


def _odd_decimal(record: Any, records: Any, draw: random.Random) -> None:
    holder, key = draw.choice(_decimals(record) or places(record))
    holder[key] = draw.choice(ODD_DECIMALS)


def _odd_text(record: Any, records: Any, draw: random.Random) -> None:
    found = [(h, k) for h, k in places(record) if isinstance(h[k], str)]
    holder, key = draw.choice(found or places(record))
    value, at = str(holder[key]), draw.randrange(len(str(holder[key])) + 1)
    holder[key] = value[:at] + draw.choice(ODD_TEXTS) + value[at:]


def _integers(record: Any) -> list[Place]:
    found = [(h, k) for h, k in places(record) if type(h[k]) is int]
    # a histogram's counts would drown everything else
    few = [(h, k) for h, k in found if isinstance(h, dict)]
    return few + found[:: max(len(found) // 20, 1)]


def _decimals(record: Any) -> list[Place]:
    pattern = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
    return [(h, k) for h, k in places(record) if isinstance(h[k], str) and pattern.fullmatch(h[k])]


def _nudge(record: Any, records: Any, draw: random.Random) -> None:
    """An integer a little, or a lot, in either direction."""
    holder, key = draw.choice(_integers(record) or places(record))
    value, sign = holder[key], draw.choice((-1, 1))
    if type(value) is int:
        step = draw.choice((1, 1, 1, 2, 10, max(abs(value) // 10, 1), abs(value), 10**6, 10**15))
        holder[key] = value + sign * step


def _nudge_decimal(record: Any, records: Any, draw: random.Random) -> None:
    """A decimal by units in its last place, by a factor, or with other digits."""
    holder, key = draw.choice(_decimals(record) or places(record))
    try:
        value = Decimal(holder[key])
    except (InvalidOperation, TypeError, ValueError):
        return
    places_ = -int(value.as_tuple().exponent)
    kind = draw.randrange(4)
    if kind <= 1:
        value += draw.choice((-2, -1, 1, 2, 3, 1000)) * Decimal(1).scaleb(-places_)
    elif kind == 2:
        value *= Decimal(draw.choice(("0.5", "0.9", "0.999", "1.001", "1.1", "2", "-1", "10")))
    else:
        places_ += draw.choice((-1, 1))
    holder[key] = f"{value:.{max(places_, 0)}f}"


def _tuned(record: Any, records: Any, draw: random.Random) -> None:
    """Evidence made better, or otherwise: counts, sums, places and what was tried."""
    claims = record.get("claims")
    claim = draw.choice(claims) if isinstance(claims, list) and claims else {}
    evidence, prior, ledger = (record.get(x) for x in ("evidence", "prior", "ledger"))
    kind = draw.randrange(8)
    try:
        if kind == 0 and "errors" in claim:
            claim["errors"] = int(claim["errors"] * draw.choice((0, 0.5, 0.9, 1.1)))
        elif kind == 1 and "histogram" in claim:
            claim["histogram"] = draw.choice(
                ([[0, 1]], claim["histogram"][:1], [[v, 3 * t] for v, t in claim["histogram"]])
            )
        elif kind == 2 and evidence:
            group = draw.choice(evidence["groups"])
            name = draw.choice(list(group))
            group[name] = f"{Decimal(group[name]) * Decimal(draw.choice(('0.9', '1.1', '2'))):f}"
        elif kind == 3 and "draws" in claim:
            claim["draws"] *= draw.choice((2, 10, 1000))
        elif kind == 4 and prior and prior.get("choices"):
            name = draw.choice(list(prior["choices"]))
            options: Any = building.LISTS.get(name, (0, 1, 7, [], [30]))
            prior["choices"][name] = copy.deepcopy(draw.choice(options))
        elif kind == 5 and prior and prior.get("variances"):
            entry = draw.choice(prior["variances"])
            if "index" in entry:
                entry["index"] = max(entry["index"] + draw.choice((-50, -1, 1, 50)), 1)
        elif kind == 6 and ledger:
            part = draw.choice(("recipe", "user"))
            ledger[part] = {"candidates": draw.choice((1, 2, 100)), "looks": draw.choice((0, 1, 9))}
        elif ledger:
            counted = draw.choice(("declared", "place"))
            ledger["certificates"] = {"counted": counted, "number": draw.choice((1, 2, 10))}
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return  # what a mutation before this one left is of another kind


def _word(record: Any, records: Any, draw: random.Random) -> None:
    """A word of the format where another one stands."""
    found = [(h, k) for h, k in places(record) if isinstance(h[k], str) and h[k] in WORDS]
    if found:
        holder, key = draw.choice(found)
        holder[key] = draw.choice(WORDS)


def _shares(record: Any, records: Any, draw: random.Random) -> None:
    shares = ("0.025", "0.035", "0.01", "0.5", "0.4999999", "0.000000000000000000000000000001")
    found = [(h, k) for h, k in places(record) if isinstance(k, str) and k.startswith("delta")]
    if found:
        holder, key = draw.choice(found)
        holder[key] = draw.choice(shares)


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
    names = ("note", "limit", "m", "__class__", "__proto__", "constructor", *ODD_TEXTS)
    draw.choice(objects)[draw.choice(names)] = draw.choice((1, "x", {}))


def _made(record: Any, records: Any, draw: random.Random) -> None:
    """In the maps, where names are free."""
    made = record.get("made")
    if isinstance(made, dict):
        maps = [value for value in made.values() if isinstance(value, dict)]
        if maps:
            names = ("a", "0", "__proto__", "constructor", "toString", "a b", " a", "ä", "x" * 61)
            draw.choice(maps)[draw.choice(names)] = draw.choice(("", "text", *ODD_TEXTS))


MUTATIONS: dict[str, Callable[[Any, Any, random.Random], None]] = {
    "replace": _replace,
    "odd number": _odd_number,
    "odd decimal": _odd_decimal,
    "odd text": _odd_text,
    "nudge": _nudge,
    "nudge decimal": _nudge_decimal,
    "nudge decimal again": _nudge_decimal,
    "tuned": _tuned,
    "tuned again": _tuned,
    "word": _word,
    "shares": _shares,
    "delete": _delete,
    "duplicate": _duplicate,
    "swap": _swap,
    "splice": _splice,
    "add": _add,
    "made": _made,
}


# By bytes


def damaged_bytes(content: bytes, draw: random.Random) -> bytes:
    """Bytes flipped, replaced, cut out, repeated, moved or cut off."""
    damaged = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5))):
        if not damaged:
            break
        at, size = draw.randrange(len(damaged)), draw.choice((1, 1, 2, 8, 100, 1000))
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
