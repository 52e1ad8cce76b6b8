"""What becomes of mutated certificates: counts, and a complaint about each that should not pass."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "certificate"))

from certificate_cases import DRAWN, LEARNED, SAMPLED, VOTE, Primitives, issue
from independent_oracle import flaws
from mutations import mutant

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.errors import BadInput
from pacbound.report.explanation import explain

__all__ = ["Outcome", "certificates", "fuzz_certificates"]

ROOT = Path(__file__).parents[2]
SLOW = 2.0  # seconds in which every file must be answered


def certificates() -> list[dict[str, Any]]:
    """Every published certificate, and made ones of all predictors, KLs, samplers and priors."""
    learned = dataclasses.replace(LEARNED, m=300, errors=1_600)
    cases = [
        Primitives(),
        Primitives(trials=3, seed=2, widths=(600, 250), inequality="maurer"),
        SAMPLED,
        dataclasses.replace(SAMPLED, tail="theorem3", limit="chernoff", shared=False),
        DRAWN,
        learned,
        dataclasses.replace(learned, predictor="draw", risk=DRAWN.risk, errors=20),
        dataclasses.replace(learned, own=()),
        dataclasses.replace(VOTE, m=300, errors=700),
        dataclasses.replace(VOTE, m=300, errors=700, predictor="vote-gibbs"),
        dataclasses.replace(SAMPLED, predictor="vote-tandem", held_out=None, samples=20_000),
    ]
    made = [json.loads(issue(case).to_json()) for case in cases]
    published = sorted((ROOT / "certificates").glob("*.json"))
    # The made ones are short, so that more of them are tried in the same time.
    return [*made * 15, *(json.loads(path.read_bytes()) for path in published)]


@dataclass
class Outcome:
    """How many there were of each kind, how long the slowest took, and what is wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    complaints: list[str] = field(default_factory=list)


@contextmanager
def _splits_kept() -> Iterator[None]:
    """The split of a learned prior takes most of a check: each is computed once."""
    before = checker.prior_part
    checker.prior_part = lru_cache(maxsize=256)(before)
    try:
        yield
    finally:
        checker.prior_part = before


def fuzz_certificates(count: int, seed: int = 0) -> Outcome:
    """Check so many mutants, and judge every one that is accepted by the oracle."""
    outcome, draw, sources = Outcome(), random.Random(seed), certificates()
    claims = {_claim(record) for record in sources}
    with _splits_kept():
        for number in range(count):
            how, content = mutant(sources, draw)
            try:
                start = time.process_time()
                verdict = checker.check(content)
                seconds = time.process_time() - start
                kind = _judged(verdict, content, claims)
                if number % 25 == 0:
                    outcome.counts["explained"] += _explained(content)
            except Exception as error:  # the very thing that is looked for
                kind, seconds = "crash", 0.0
                outcome.complaints.append(f"{number} ({how}): {type(error).__name__}: {error}")
            outcome.counts[kind] += 1
            outcome.slowest = max(outcome.slowest, seconds)
            if seconds > SLOW:
                outcome.complaints.append(f"{number} ({how}): {seconds:.1f} s")
            if kind == "better than its primitives":
                outcome.complaints.append(f"{number} ({how}): accepted, but {flaws(content)}")
    return outcome


def _claim(record: dict[str, Any]) -> tuple[Any, ...]:
    claim = record["claim"]
    return claim["risk_bound"], claim["delta"], claim["predictor"], claim["sentence"]


def _judged(verdict: checker.Verdict, content: bytes, claims: set[tuple[Any, ...]]) -> str:
    line = verdict.line("file.json")
    if not line.isprintable() or len(line) > 500:
        raise AssertionError(f"not one line: {line[:200]!r}")
    if not verdict.accepted:
        return "rejected" if verdict.exit_code == 1 else "not JSON"
    if flaws(content):
        return "better than its primitives"
    claim = _claim(json.loads(content))
    if claim in claims:
        return "accepted, the same claim"
    nearest = min(claims, key=lambda other: (other[2:] != claim[2:], abs(other[0] - claim[0])))
    weaker = claim[0] >= nearest[0] and claim[1] >= nearest[1]
    return "accepted, a weaker claim" if weaker else "accepted, implied by other primitives"


def _explained(content: bytes) -> bool:
    """`explain` also speaks of rejected certificates; whatever they say, it must not crash."""
    try:
        explain(Certificate.from_json(content))
    except BadInput:
        return False
    return True
