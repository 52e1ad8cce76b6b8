"""How long training takes to reach a bound: the live bounds of training logs against time.

    python benchmarks/time_to_bound.py a.log.jsonl b.log.jsonl … [--level 25 20.41 18.5]

Prints, for each log, the seconds after which the bound was at or below each level (per cent), and
the best bound and its time, as a table in Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pacbound.training.log import TrainingLog

LEVELS = [30.0, 25.0, 22.5, 20.41, 18.5, 17.5, 15.0, 12.5, 10.0]


def reached(path: Path, levels: list[float]) -> list[str]:
    """The time of every level in a log, and of its best bound."""
    records = TrainingLog(path).records()
    if not records:
        raise SystemExit(f"{path} has no epochs")
    cells = []
    for level in levels:
        times = [record.seconds for record in records if 100 * record.bound <= level]
        cells.append(f"{times[0]:.0f}" if times else "–")
    best = min(records, key=lambda record: record.bound)
    return [*cells, f"{100 * best.bound:.2f} at {best.seconds:.0f} (epoch {best.epoch})"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--level", nargs="+", type=float, default=LEVELS)
    options = parser.parse_args()
    heads = ["seconds to", *(f"{level:g} %" for level in options.level), "best"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for path in options.logs:
        name = path.name.partition(".")[0]
        name = path.parent.name if name == "checkpoint" else name  # of a table's cell
        print("| " + " | ".join([name, *reached(path, options.level)]) + " |")


if __name__ == "__main__":
    main()
