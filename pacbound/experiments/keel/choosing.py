"""The network of a table, chosen on a validation part of the prior's own examples.

No counted example is looked at, so the choice costs nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pacbound.recipes import listed_candidates, recipe
from pacbound.recipes.commands import GIVEN

if TYPE_CHECKING:
    from pacbound.data import Dataset
    from pacbound.recipes import Settings
    from pacbound.training.choosing import Chosen

__all__ = [
    "CANDIDATES",
    "FRACTION",
    "choose",
    "choosing_steps",
    "seconds_per_step",
    "settings_of",
]

FRACTION = 0.5  # of the examples for the prior
TRIAL = 500  # examples of the table on which the speed is measured
EPOCHS, BATCH = 50, 50

# Those of the recipe `table`. They set everything that the recipe sets for a prior.
CANDIDATES: tuple[dict[str, Any], ...] = tuple(
    {key: value for key, value in entry.items() if key != "initializer"}
    for entry in listed_candidates("table")
)


def settings_of(candidate: dict[str, Any]) -> Settings:
    """The settings of a candidate: the recipe `table` with a learned prior."""
    hidden = candidate.get("hidden", [])
    return recipe(
        "table",
        {
            "data": GIVEN,
            "prior_fraction": FRACTION,
            "prior_epochs": EPOCHS,
            "prior_batch": BATCH,
            "prior_scaling": "none",  # a tenth of the examples scales the columns instead
            "prior_choice": "none",
            "initializer": "fan-in-uniform" if hidden else "zeros",
            **candidate,
        },
    )


def choosing_steps(examples: float) -> int:
    """The steps of all candidates, for a prior's part of this size."""
    from pacbound.training.choosing import VALIDATION, able

    listed = able([settings_of(candidate) for candidate in CANDIDATES], examples)
    epochs = sum(each.prior_epochs for each in listed)
    return epochs * math.ceil((1 - VALIDATION) * examples / BATCH)


class _Clock:
    """The times of steps."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def tick(self, step: object) -> None:
        self.times.append(time.monotonic())

    def each(self) -> float:
        """Seconds per step, without the first one, which includes the start."""
        return (self.times[-1] - self.times[0]) / (len(self.times) - 1)


def seconds_per_step(threads: int) -> float:
    """The time of a step, the mean over the candidates, measured on a small made table."""
    import numpy as np

    from pacbound.data import Dataset
    from pacbound.training.learned_prior import learn_prior

    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(TRIAL, 10)).astype(np.float32)
    made = Dataset("made", inputs, generator.integers(0, 2, TRIAL), None, None, 2)
    seconds = []
    for candidate in CANDIDATES:
        settings = settings_of({**candidate, "prior_epochs": 5})
        clock = _Clock()
        learn_prior(settings, made, None, clock.tick, threads=threads)
        seconds.append(clock.each())
    return sum(seconds) / len(seconds)


def choose(
    data: Dataset,
    threads: int,
    on_candidate: Callable[[int, int], None],
    candidates: Sequence[dict[str, Any]] = CANDIDATES,
) -> Chosen:
    """The candidate with the fewest errors on a validation part of the prior's examples."""
    from pacbound.priors.split import split_of
    from pacbound.training.choosing import choose as chosen_of

    listed = [settings_of(candidate) for candidate in candidates]
    part = split_of(listed[0], data).learned_data(data)
    return chosen_of(listed, part, on_candidate, threads=threads)
