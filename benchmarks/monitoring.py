"""What it costs to monitor many outcomes: read, compare with the state, bet, and write.

    python benchmarks/monitoring.py [--outcomes 1000000] [--rounds 3] [--quick]

A CSV file with label, prediction and group of every outcome is read as `pacbound monitor` reads it,
for a certificate with one claim and for one with claims about all inputs, classes and groups. The
second run finds the whole history in its state, and 1000 new rows. CPU seconds, medians; one
thread.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import medians, options_of

import pacbound

VECTORS = Path(pacbound.__file__).parent / "certificate" / "vectors"
ONE = VECTORS / "accepted-draw-learned-binomial.json"  # 10 classes
MANY = VECTORS / "accepted-fixed-every-claim.json"  # 3 classes, groups


def write_outcomes(path: Path, outcomes: int, classes: int) -> None:
    generator = np.random.default_rng(0)
    label = generator.integers(0, classes, outcomes)
    prediction = (label + (generator.random(outcomes) < 0.005)) % classes
    group = np.array(["north", "south"])[generator.integers(0, 2, outcomes)]
    rows = zip(label.tolist(), prediction.tolist(), group.tolist(), strict=True)
    lines = "\n".join(f"{y},{z},{g}" for y, z, g in rows)
    path.write_text(f"label,prediction,group\n{lines}\n", encoding="utf-8")


def works(folder: Path, outcomes: int) -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {}
    for name, certificate, classes in (("one claim", ONE, 10), ("many claims", MANY, 3)):
        file, state = folder / f"{classes}.csv", folder / f"{classes}.json"
        write_outcomes(file, outcomes, classes)
        found[name] = lambda c=certificate, f=file: pacbound.monitor(c, f)
        pacbound.monitor(certificate, file, state=state)
        seen = state.read_bytes()
        with file.open("a", encoding="utf-8") as stream:
            stream.write("0,0,north\n" * 1000)

        def resumed(
            c: Path = certificate, f: Path = file, s: Path = state, b: bytes = seen
        ) -> None:
            s.write_bytes(b)
            pacbound.monitor(c, f, state=s)

        found[f"{name}, resumed"] = resumed
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outcomes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = options_of(parser, quick={"outcomes": 2000, "rounds": 1})
    with tempfile.TemporaryDirectory() as folder:
        times = medians(works(Path(folder), options.outcomes), options.rounds)
    for name, seconds in times.items():
        print(f"{options.outcomes} outcomes, {name}: {seconds:.2f} s", flush=True)


if __name__ == "__main__":
    main()
