"""A small trial of a run, to measure its duration."""

from __future__ import annotations

import time
from functools import lru_cache

from pacbound.experiments.bandit.cell import BanditCell
from pacbound.experiments.bandit.play import play
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems import load_problem

__all__ = ["playing"]

TRAININGS = 3  # the first is not timed

# One child process tries all agents of a problem, then those of the next.
_load = lru_cache(maxsize=1)(load_problem)


def playing(cell: BanditCell) -> float:
    """The duration of the whole run in seconds."""
    whole = _load(cell.problem, cell.seed, steps=cell.steps)
    every = cell.settings.train_every
    few = min((TRAININGS + 1) * every, whole.steps)  # there is no training at the horizon
    some = Problem(whole.name, whole.contexts[:few], whole.rewards[:few], whole.optimal[:few])
    ticks = [time.monotonic()]
    play(
        some, cell.agent, cell.settings, cell.seed, lambda progress: ticks.append(time.monotonic())
    )
    # The intervals between trainings, without the first and the last.
    first, last = (1, len(ticks) - 2) if len(ticks) > TRAININGS else (0, len(ticks) - 1)
    return (ticks[last] - ticks[first]) / (last - first) * whole.steps / every
