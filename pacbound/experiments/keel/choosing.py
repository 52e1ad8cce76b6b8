"""The network of a table, chosen on a validation part of the prior's own examples.

No counted example is looked at, so the choice costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pacbound.recipes import recipe
from pacbound.recipes.commands import GIVEN

if TYPE_CHECKING:
    from pacbound.data import Dataset
    from pacbound.recipes import Settings

__all__ = ["CANDIDATES", "FRACTION", "Chosen", "choose", "settings_of"]

FRACTION = 0.5  # of the examples for the prior
VALIDATION = 0.3  # of the prior's part, for the choice alone
FEW = 2000  # examples of the prior's part that allow for more epochs

EPOCHS, BATCH = 50, 50
LARGEST = {
    "hidden": [100, 100],
    "prior_learning_rate": 0.003,
    "prior_weight_decay": 0.1,
    "prior_dropout": 0.2,
}
# From the smallest to the largest; the first of those with the fewest errors is taken. They set
# everything that the recipe `table` sets for a prior, so its development has no part in them.
CANDIDATES: tuple[dict[str, Any], ...] = (
    {"prior_learning_rate": 0.01, "prior_weight_decay": 1.0},
    {"prior_learning_rate": 0.01, "prior_weight_decay": 0.01},
    {"hidden": [50], "prior_learning_rate": 0.005, "prior_weight_decay": 1.0},
    LARGEST,
    {**LARGEST, "prior_epochs": 200},
)


@dataclass(frozen=True)
class Chosen:
    """The settings that were chosen, and the errors of all candidates on the validation part."""

    settings: Settings
    errors: tuple[int, ...]
    examples: int


def settings_of(candidate: dict[str, Any], validation: float = 0.0) -> Settings:
    """The settings of a candidate: the recipe `table` with a learned prior."""
    hidden = candidate.get("hidden", [])
    return recipe(
        "table",
        {
            "data": GIVEN,
            "prior_fraction": FRACTION,
            "prior_validation": validation,
            "prior_epochs": EPOCHS,
            "prior_batch": BATCH,
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
    """Train every candidate on 70 % of the prior's part, and count its errors on the rest."""
    from pacbound.priors.split import split_of
    from pacbound.training.learned_prior import learn_prior

    part = split_of(settings_of(candidates[0]), data).learned_data(data)
    able = [c for c in candidates if part.m <= FEW or c.get("prior_epochs", EPOCHS) <= EPOCHS]
    errors, examples = [], 0
    for number, candidate in enumerate(able):
        on_candidate(number, len(able))
        learned = learn_prior(settings_of(candidate, VALIDATION), part, threads=threads)
        examples, wrong = learned.validation
        errors.append(wrong)
    return Chosen(settings_of(able[errors.index(min(errors))]), tuple(errors), examples)
