"""The end of a training run, and the time when it was close to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pacbound.report.training_log import TrainingLog

__all__ = ["CLOSE", "RunSummary", "best_so_far", "summary"]

CLOSE = 1.01  # of the best bound: within one per cent


@dataclass(frozen=True)
class RunSummary:
    """The final figures of a run, and when it was close to them; None if no epoch has a bound."""

    name: str
    epochs: int
    seconds: float
    final_bound: float | None
    best_bound: float | None
    best_epoch: int | None
    seconds_to_within_1_percent: float | None  # of the best bound


def summary(log: TrainingLog) -> RunSummary:
    """The bounds of a run and their times."""
    rows = [row for row in log.rows if math.isfinite(row.bound)]
    last = log.rows[-1] if log.rows else None
    seconds = last.seconds if last else 0.0
    if not rows:
        return RunSummary(log.name, len(log.rows), seconds, None, None, None, None)
    best = min(rows, key=lambda row: row.bound)
    near = next(row for row in rows if row.bound <= CLOSE * best.bound)
    final = rows[-1].bound if rows[-1] is last else None
    return RunSummary(log.name, len(log.rows), seconds, final, best.bound, best.epoch, near.seconds)


def best_so_far(log: TrainingLog) -> tuple[list[float], list[float]]:
    """Times in seconds and the smallest bound so far, for the epochs with a bound."""
    times, bounds, best = [], [], math.inf
    for row in log.rows:
        if math.isfinite(row.bound):
            best = min(best, row.bound)
            times.append(row.seconds)
            bounds.append(best)
    return times, bounds
