"""The recorded run: `python tests/fuzz/run.py CERTIFICATES [CHECKPOINTS] [SEED]`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from fuzzed_certificates import Outcome, fuzz_certificates
from javascript_checker import is_installed

PART = 2500  # mutants with one seed


def show(title: str, outcome: Outcome, seconds: float) -> bool:
    """Print the counts; whether nothing is wrong."""
    print(f"{title}: {outcome.counts.total() - outcome.counts['explained']} in {seconds:.0f} s")
    for kind, count in sorted(outcome.counts.items()):
        print(f"  {count:7d}  {kind}")
    if outcome.checks:
        numbers = sorted(outcome.checks.items(), key=lambda item: -item[1])
        print("  by check:", ", ".join(f"{number} {count}" for number, count in numbers))
    print(f"  slowest: {outcome.slowest:.2f} s")
    for complaint in outcome.complaints[:40]:
        print(f"  WRONG: {complaint[:400]}")
    print(f"  {len(outcome.complaints)} complaints", flush=True)
    return not outcome.complaints


def in_parts(fuzz: Callable[[int, int], Outcome], count: int, seed: int) -> Outcome:
    """The work in parts, each with a seed of its own, whatever the number of processes."""
    sizes = [min(PART, count - first) for first in range(0, count, PART)]
    total = Outcome()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        seeds = [1000 * seed + part for part in range(len(sizes))]
        for done, outcome in enumerate(pool.map(fuzz, sizes, seeds), 1):
            total.counts += outcome.counts
            total.checks += outcome.checks
            total.slowest = max(total.slowest, outcome.slowest)
            total.complaints += outcome.complaints
            print(f"part {done} of {len(sizes)}", *outcome.complaints, sep="\n  ", flush=True)
    return total


def main() -> int:
    """Fuzz both readers; 1 if there is anything to complain about."""
    given = [int(argument) for argument in sys.argv[1:]]
    certificates, checkpoints, seed = [*given, *(100_000, 20_000, 0)[len(given) :]]
    good = True
    if certificates:
        if not is_installed():
            print("node is not installed: the checker in JavaScript is left out")
        start = time.monotonic()
        outcome = in_parts(fuzz_certificates, certificates, seed)
        good &= show("certificates", outcome, time.monotonic() - start)
    if checkpoints:
        from fuzzed_checkpoints import fuzz_checkpoints

        start = time.monotonic()
        outcome = in_parts(fuzz_checkpoints, checkpoints, seed)
        good &= show("checkpoints", outcome, time.monotonic() - start)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
