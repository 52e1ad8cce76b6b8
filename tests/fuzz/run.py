"""The recorded run, in parts that are kept: `python tests/fuzz/run.py --kept build/fuzz.jsonl`.

Each part has a seed of its own, so that the mutants do not depend on the number of processes. With
`--kept` every finished part is a line in a file, and the same command continues what was stopped.
Parts that were made with other checkers, mutations or vectors do not count.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from fuzzed_certificates import VECTORS, Outcome, fuzz_certificates
from javascript_checker import is_installed

PART = 2500  # mutants with one seed
HERE = Path(__file__).parent
CODE = Path(__file__).parents[2] / "pacbound"


def identity() -> str:
    """Of all that a result follows from, but for the seed."""
    places = [CODE / "certificate/checker.py", CODE / "report/page/verifier.js"]
    places += [*sorted(HERE.glob("*.py")), *sorted(VECTORS.glob("accepted-*.json"))]
    digest = hashlib.sha256(str(is_installed()).encode())
    for place in places:
        digest.update(place.name.encode() + b"\0" + hashlib.sha256(place.read_bytes()).digest())
    return digest.hexdigest()[:16]


class Kept:
    """Finished parts, one line each; nothing is kept without a file."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.identity = path, identity()
        self.outcomes: dict[tuple[str, int, int], tuple[Outcome, float]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        try:
            found = json.loads(line)
            if found.pop("identity") != self.identity:
                return
            key = (found["what"], found["seed"], found["count"])
            outcome = Outcome(
                Counter(found["counts"]),
                Counter(found["checks"]),
                found["slowest"],
                found["complaints"],
            )
            self.outcomes[key] = outcome, found["seconds"]
        except (ValueError, KeyError):  # a line that was cut when the run was stopped
            return

    def add(self, what: str, seed: int, count: int, outcome: Outcome, seconds: float) -> None:
        self.outcomes[what, seed, count] = outcome, seconds
        if self.path is None:
            return
        record = {"identity": self.identity, "what": what, "seed": seed, "count": count}
        record |= {"counts": outcome.counts, "checks": outcome.checks, "seconds": seconds}
        record |= {"slowest": outcome.slowest, "complaints": outcome.complaints}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # A line that was cut has no end: without one before it this line would continue it.
        before = self.path.read_bytes() if self.path.exists() else b""
        cut = before != b"" and not before.endswith(b"\n")
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(("\n" if cut else "") + json.dumps(record) + "\n")


def timed(fuzz: Callable[[int, int], Outcome], count: int, seed: int) -> tuple[Outcome, float]:
    start = time.monotonic()
    return fuzz(count, seed), time.monotonic() - start


def in_parts(
    what: str,
    fuzz: Callable[[int, int], Outcome],
    count: int,
    seed: int,
    kept: Kept,
    workers: int,
) -> tuple[Outcome, float]:
    """The parts that are not kept yet, and the sum of all; seconds are of all processes."""
    sizes = [min(PART, count - first) for first in range(0, count, PART)]
    keys = [(what, 1000 * seed + part, size) for part, size in enumerate(sizes)]
    missing = [key for key in keys if key not in kept.outcomes]
    print(f"{what}: {len(keys)} parts, {len(keys) - len(missing)} of them kept", flush=True)
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(timed, fuzz, size, own): (own, size) for _, own, size in missing}
        for done, future in enumerate(as_completed(running), 1):
            own, size = running[future]
            try:
                outcome, seconds = future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)  # or it would do all the other parts first
                raise
            kept.add(what, own, size, outcome, seconds)
            words = f"{what}: part with seed {own} in {seconds:.0f} s, {done} of {len(missing)}"
            print(words, *outcome.complaints, sep="\n  ", flush=True)
    total, seconds = Outcome(), 0.0
    for key in keys:
        outcome, took = kept.outcomes[key]
        total.counts += outcome.counts
        total.checks += outcome.checks
        total.slowest = max(total.slowest, outcome.slowest)
        total.complaints += outcome.complaints
        seconds += took
    return total, seconds


def show(what: str, outcome: Outcome, seconds: float) -> bool:
    """Print the counts, then one line that sums up; whether nothing is wrong."""
    for kind, count in sorted(outcome.counts.items()):
        print(f"  {count:7d}  {kind}")
    if outcome.checks:
        numbers = sorted(outcome.checks.items(), key=lambda item: -item[1])
        print("  by check:", ", ".join(f"{number} {count}" for number, count in numbers))
    for complaint in outcome.complaints[:40]:
        print(f"  WRONG: {complaint[:400]}")
    mutants = outcome.counts.total() - outcome.counts["explained"]
    verdict = "FAILED" if outcome.complaints else "PASSED"
    print(
        f"{verdict} {what}: {mutants} mutants, {len(outcome.complaints)} complaints, slowest "
        f"{outcome.slowest:.2f} s, {seconds:.0f} s of all processes",
        flush=True,
    )
    return not outcome.complaints


def main() -> int:
    """Fuzz both readers; 1 if there is anything to complain about."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("certificates", type=int, nargs="?", default=100_000)
    parser.add_argument("checkpoints", type=int, nargs="?", default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="of other mutants")
    parser.add_argument("--kept", type=Path, help="where finished parts are kept, and found again")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    kept, good = Kept(given.kept), True
    if given.certificates:
        if not is_installed():
            print("node is not installed: the checker in JavaScript is left out")
        of = "certificates", fuzz_certificates, given.certificates
        good &= show("certificates", *in_parts(*of, given.seed, kept, given.workers))
    if given.checkpoints:
        from fuzzed_checkpoints import fuzz_checkpoints

        of = "checkpoints", fuzz_checkpoints, given.checkpoints
        good &= show("checkpoints", *in_parts(*of, given.seed, kept, given.workers))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
