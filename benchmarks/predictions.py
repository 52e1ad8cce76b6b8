"""The time of a certificate from a file of predictions, relative to reading the file.

    python benchmarks/predictions.py [--rows 100000] [--quick]

Each command runs in a process of its own, so the time of starting Python and importing is part of
it. Processor time is measured, so other work on the machine has no effect. The yardstick is a
process that starts Python and reads the same file with `csv` alone. "plain" has labels and
predictions; "all" has ids, groups, costs, ten probabilities, and every claim.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measuring import medians, options_of

ROOT = Path(__file__).parents[1]
ROUNDS = 3
CLAIMS = "overall,answered,per-class,predicted-class"
READ = "import csv, sys; print(len(list(csv.reader(open(sys.argv[1])))))"


def write(folder: Path, rows: int) -> tuple[Path, Path]:
    """Made predictions of ten classes: labels and classes alone, and with everything."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 10, rows)
    logits = generator.normal(size=(rows, 10)) + 4 * np.eye(10)[labels]
    table = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    plain, everything = folder / "plain.csv", folder / "all.csv"
    with plain.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["label", "prediction"])
        writer.writerows(zip(labels, table.argmax(1), strict=True))
    with everything.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "label", "group", "cost", *(f"p_{k}" for k in range(10))])
        for k, (label, row) in enumerate(zip(labels, table, strict=True)):
            cost = 0 if row.argmax() == label else 0.25
            writer.writerow([f"r{k}", label, f"g{k % 5}", cost, *(f"{p:.6f}" for p in row)])
    return plain, everything


def of_children() -> float:
    """The processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    options = options_of(parser, {"rows": 500})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, everything = write(folder, options.rows)
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'cli'}"}

        def run(*words: object) -> None:
            command = [sys.executable, *map(str, words)]
            subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)

        command = [
            "-m",
            "pacbound_cli",
            "certify-fixed",
            "--force",
            "-o",
            "c.json",
            "--predictions",
        ]
        works = {
            "read": lambda: run("-c", READ, everything),
            "plain": lambda: run(*command, plain),
            "all": lambda: run(*command, everything, "--claims", CLAIMS, "--answer-above", "0.9"),
        }
        times = medians(works, ROUNDS, of_children)
    print(f"{options.rows} rows, start of Python included")
    print(f"reading the file with csv alone      {times['read']:6.2f} s")
    print(f"certify-fixed, labels and classes    {times['plain']:6.2f} s")
    print(f"certify-fixed, every column, claim   {times['all']:6.2f} s")
    for name in ("plain", "all"):
        print(f"certify-fixed ({name}) ÷ reading: {times[name] / times['read']:.1f}")


if __name__ == "__main__":
    main()
