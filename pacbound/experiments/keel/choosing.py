"""The network of a table, chosen on a validation part of the prior's own examples.

No counted example is looked at, so the choice costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pacbound.recipes import listed_candidates, recipe
from pacbound.recipes.commands import GIVEN

if TYPE_CHECKING:
    from pacbound.data import Dataset
    from pacbound.recipes import Settings
    from pacbound.training.choosing import Chosen

__all__ = ["CANDIDATES", "FRACTION", "choose", "settings_of"]

FRACTION = 0.5  # of the examples for the prior
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
