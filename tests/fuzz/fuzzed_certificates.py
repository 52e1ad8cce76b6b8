"""What becomes of mutated certificates: counts, and a complaint about each that should not pass.

Both checkers judge every mutant, and must give the same verdict with the same number. What both
accept is computed anew by a third party, the builder of the vectors, in mpmath.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "certificate"))

import building
import formulas
from formulas import number
from javascript_checker import JavaScriptChecker, is_installed
from mpmath import mp, mpf
from mutations import mutant

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.errors import PacboundError
from pacbound.report.explanation import explain

__all__ = ["SLOW", "Outcome", "certificates", "flaws", "fuzz_certificates"]

VECTORS = Path(__file__).parents[2] / "pacbound/certificate/vectors"
SLOW = 2.0  # seconds in which every file must be answered
LONG = 60_000  # bytes: longer vectors take much time and have the fields of the others
# They take long for one figure; the vectors themselves are tests of that.
SLOW_VECTORS = ("million", "large-counts")


def certificates() -> list[dict[str, Any]]:
    """The good vectors: all predictors, divergences, samplers, priors and claims."""
    paths = [
        path
        for path in sorted(VECTORS.glob("accepted-*.json"))
        if path.stat().st_size < LONG and not any(word in path.name for word in SLOW_VECTORS)
    ]
    return [json.loads(path.read_bytes()) for path in paths]


@dataclass
class Outcome:
    """How many there were of each kind, how long the slowest took, and what is wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)  # that rejected
    slowest: float = 0.0
    complaints: list[str] = field(default_factory=list)


def fuzz_certificates(count: int, seed: int = 0) -> Outcome:
    """Have so many mutants checked by both checkers, and judge every one that is accepted."""
    outcome, draw, sources = Outcome(), random.Random(seed), certificates()
    known = {building.to_bytes(record) for record in sources}
    with JavaScriptChecker() if is_installed() else nullcontext() as second:
        for number in range(count):
            how, content = mutant(sources, draw)
            try:
                start = time.process_time()
                verdict = checker.verify(content)
                seconds = time.process_time() - start
                kind = _judged(verdict, content, known)
                outcome.checks[verdict.check or kind] += 1
                if second is not None:
                    said = second.check(content)
                    seconds = max(seconds, said.seconds)
                    if said.check != ("accepted" if verdict.accepted else verdict.check):
                        raise AssertionError(
                            f"{verdict.check or 'accepted'} ({verdict.reason}) in Python, "
                            f"{said.check} ({said.reason}) in JavaScript"
                        )
                if number % 25 == 0:
                    outcome.counts["explained"] += _explained(content)
            except Exception as error:  # the very thing that is looked for
                kind, seconds = "wrong", 0.0
                outcome.complaints.append(f"{number} ({how}): {type(error).__name__}: {error}")
            outcome.counts[kind] += 1
            outcome.slowest = max(outcome.slowest, seconds)
            if seconds > SLOW:
                outcome.complaints.append(f"{number} ({how}): {seconds:.1f} s")
    return outcome


def _judged(verdict: checker.Verdict, content: bytes, known: set[bytes]) -> str:
    line = verdict.line("file.json")
    if not line.isprintable() or len(line) > 5000:
        raise AssertionError(f"not one line: {line[:200]!r}")
    if not verdict.accepted:
        if not verdict.check:
            raise AssertionError(f"rejected without a number: {verdict.reason}")
        return "rejected" if verdict.exit_code == 1 else "not JSON"
    record = json.loads(content)
    found = flaws(record)
    if found:
        raise AssertionError(f"accepted, but {found}")
    is_known = building.to_bytes(record) in known
    return "accepted, as it was" if is_known else "accepted, with other primitives or words"


def flaws(record: dict[str, Any]) -> list[str]:
    """Figures that are smaller than the others imply, or larger by two units."""
    found = [
        f"{name} is {shown}" for name, shown, x, u in _figures(record) if not _is_due(shown, x, u)
    ]
    if record["sentence"] != building.sentence(record):
        found.append("another sentence is due")
    return found


def _is_due(shown: str, exact: mpf, unit: str) -> bool:
    """x ≤ v < x + 2u, with the slack of the specification."""
    value, slack = mpf(shown), mpf(10) ** -30
    return bool(exact <= value + slack and value - 2 * mpf(unit) < exact - slack)


def _figures(record: dict[str, Any]) -> Iterator[tuple[str, str, mpf, str]]:
    """Name, what is shown, what follows exactly from the other figures, and the unit."""
    rate, nats = "1e-10", "1e-6"
    yield "code", record["bound"]["code"], building.code(record), nats
    yield "ledger", record["bound"]["ledger"], building.ledger_nats(record), nats
    if "evidence" in record:
        yield "nats", record["evidence"]["nats"], building.divergence(record), nats
    for claim in record["claims"]:
        yield "empirical", claim["empirical"], number(formulas.exact_mean(claim)), rate
        if "limit" in claim:
            yield "limit", claim["limit"], min(building.limit(record, claim), mpf(1)), rate
        bound = building.bound(record, claim, record["bound"]["inequality"])
        yield "bound", claim["bound"], min(max(bound, mpf(0)), mpf(1)), rate
    for entry in record["also"]:
        if entry["kind"] == "inequality":
            value = building.bound(record, record["claims"][0], entry["name"])
            yield entry["name"], entry["value"], min(max(value, mpf(0)), mpf(1)), rate
        elif entry["kind"] == "held-out":
            level = -mp.log(number(record["delta"]))
            upper = formulas.clopper_pearson(entry["errors"], entry["examples"], level)
            yield "upper", entry["upper"], upper, rate
        else:
            yield "theorem3", entry["nats"], building.divergence(record, "theorem3"), nats


def _explained(content: bytes) -> bool:
    """`explain` also speaks of rejected certificates; whatever they say, it must not crash."""
    try:
        explain(Certificate.from_json(content))
    except PacboundError:
        return False
    return True
