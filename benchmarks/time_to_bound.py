"""How long training takes to reach a bound: the live bounds of training logs against time.

    python benchmarks/time_to_bound.py a.log.jsonl b.log.jsonl … [--level 25 20.41 18.5]
    python benchmarks/time_to_bound.py --quick

Prints, for each log, the seconds after which the bound was at or below each level (per cent), and
the best bound and its time, as a table in Markdown. `--quick` makes a small log and reads that.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from made import made_data, tiny
from measuring import options_of

from pacbound.recipes import recipe
from pacbound.training.log import TrainingLog, log_path
from pacbound.training.loop import train

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


def made_log(folder: Path) -> Path:
    """The log of a small training."""
    settings = recipe("mlp-600", {**tiny("mlp-600"), "epochs": 2})
    path = folder / "made.pt"
    train(settings, made_data(settings, 40), path)
    return log_path(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--level", nargs="+", type=float, default=LEVELS)
    options = options_of(parser)
    heads = ["seconds to", *(f"{level:g} %" for level in options.level), "best"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    with tempfile.TemporaryDirectory() as folder:
        logs = [*options.logs, made_log(Path(folder))] if options.quick else options.logs
        for path in logs:
            name = path.name.partition(".")[0]
            name = path.parent.name if name == "checkpoint" else name  # of a table's cell
            print("| " + " | ".join([name, *reached(path, options.level)]) + " |")


if __name__ == "__main__":
    main()
