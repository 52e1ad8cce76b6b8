"""A small trial of a cell: a few steps, to measure their duration."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from pacbound.api import StochasticModule
from pacbound.data import Dataset, load
from pacbound.experiments.tables.trained import CHECKPOINT, PRIOR, TrainedCell
from pacbound.recipes import Settings
from pacbound.training.descent import Step
from pacbound.training.progress import Callback

__all__ = ["Clock", "trial"]

STEPS = 4  # of each training stage; the first is not timed

_load = cache(load)  # one child process tries all kinds of cells


class Clock:
    """The time between calls of one function, and the number of calls."""

    def __init__(self) -> None:
        self.last = time.monotonic()
        self.spent: dict[str, list[float]] = {}

    def tick(self, what: str) -> None:
        now = time.monotonic()
        self.spent.setdefault(what, []).append(now - self.last)
        self.last = now

    def each(self, what: str) -> float:
        """Seconds per call, without the first call (which includes setup) if there are others."""
        times = self.spent[what]
        rest = times[1:] or times
        return sum(rest) / len(rest)


def trial(cell: TrainedCell, threads: int) -> Mapping[str, float]:
    """Seconds per epoch of every stage of training, and of the last stage."""
    data = _load(cell.settings.data)
    some = _first_examples(data, STEPS * cell.settings.batch)
    with TemporaryDirectory() as folder:
        path = Path(folder) / CHECKPOINT
        paces = _training(cell, data.m, some, path)
        return {**paces, cell.last_stage: cell.probe_last(some, path, threads)}


def _training(cell: TrainedCell, m: int, some: Dataset, path: Path) -> dict[str, float]:
    clock, settings = Clock(), cell.settings
    stages = [stage for stage in cell.work() if stage not in (PRIOR, cell.last_stage)]

    def on_step(step: Step) -> None:
        clock.tick(PRIOR if step.phase == "prior" else stages[step.epoch - 1])

    net = StochasticModule(_one_epoch_each(settings))
    net.fit(some, checkpoint=path, callbacks=[Callback(on_step=on_step)], progress=False)
    learned = settings.prior_fraction * m  # the prior's part; the posterior trains on the rest
    steps = dict.fromkeys(stages, math.ceil((m - learned) / settings.batch))
    if learned:
        steps[PRIOR] = math.ceil(learned / settings.prior_batch)
    return {stage: count * clock.each(stage) for stage, count in steps.items()}


def _one_epoch_each(settings: Settings) -> Settings:
    """One epoch of every stage; a prior that learns does so from half of the examples."""
    return replace(
        settings,
        prior_fraction=0.5 if settings.prior_fraction else 0.0,
        prior_epochs=1,
        warm_start_epochs=min(settings.warm_start_epochs, 1),
        linear_epochs=min(settings.linear_epochs, 1),
        epochs=1,
    )


def _first_examples(data: Dataset, n: int) -> Dataset:
    inputs, labels = data.train_inputs[:n], data.train_labels[:n]
    return replace(
        data, train_inputs=inputs, train_labels=labels, test_inputs=None, test_labels=None
    )
