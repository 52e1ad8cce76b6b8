"""One of a recipe's candidates, chosen on a validation part of the prior's own examples.

Valid when: no counted example is looked at. The choice is then fixed before the counted examples
are seen, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from pacbound.data import Dataset
from pacbound.priors.learned import prior_settings
from pacbound.priors.split import split_of
from pacbound.recipes import Settings, candidates
from pacbound.training import learned_prior
from pacbound.training.descent import Step
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.spread import borne_spread

__all__ = ["VALIDATION", "Chosen", "able", "choose", "chosen_network"]

VALIDATION = 0.3  # of the prior's part, for the choice alone
FEW = 2000  # examples of the prior's part that allow for more epochs than the first candidate's


@dataclass(frozen=True)
class Chosen:
    """The settings that were chosen, and the errors of all candidates on the validation part.

    The settings limit the prior's noise to what the chosen network bears on that part.
    """

    settings: Settings
    errors: tuple[int, ...]
    examples: int


def able(listed: Sequence[Settings], examples: float) -> list[Settings]:
    """The candidates for a prior's part of this size: few examples allow for more epochs."""
    usual = listed[0].prior_epochs
    return [each for each in listed if examples <= FEW or each.prior_epochs <= usual]


def choose(
    listed: Sequence[Settings],
    part: Dataset,
    on_candidate: Callable[[int, int], None] = lambda number, count: None,
    on_step: Callable[[Step], None] = lambda step: None,
    threads: int | None = None,
) -> Chosen:
    """Train every candidate on 70 % of the prior's part, and count its errors on the rest.

    The first of those with the fewest errors is chosen. The largest noise of its weights that
    hardly adds errors there limits the noise of the prior (`prior_spread`).

    Arguments:
        listed: The candidates, from the smallest to the largest.
        part: The examples of the prior, in the order of the split.
        on_candidate: Called before each training, with its number from 0 and their count.
    """
    listed = able(listed, part.m)
    errors, best = [], None
    for number, each in enumerate(listed):
        on_candidate(number, len(listed))
        settings = replace(each, prior_validation=VALIDATION)
        learned = learned_prior.learn_prior(settings, part, on_step=on_step, threads=threads)
        errors.append(learned.validation[1])
        if best is None or errors[-1] < best.validation[1]:
            best = learned
    assert best is not None
    chosen, examples = listed[errors.index(min(errors))], best.validation[0]
    if examples:
        aside = part.part(np.arange(part.m - examples, part.m))
        most = min(chosen.prior_spread, _borne_spread(chosen, aside, best.center))
        chosen = replace(chosen, prior_spread=most)
    return Chosen(chosen, tuple(errors), examples)


def _borne_spread(settings: Settings, unseen: Dataset, center: Mapping[str, Tensor]) -> float:
    """The noise that a network with these values bears on examples it was not trained on."""
    plain = plain_network(settings, unseen.input_shape, unseen.classes)
    inputs = network_inputs(settings, unseen.train_inputs)
    return borne_spread(settings, plain, center, (inputs, torch.from_numpy(unseen.train_labels)))


def chosen_network(
    settings: Settings,
    data: Dataset,
    before: Settings | None = None,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Settings:
    """The settings with one of the recipe's candidates, if there is something to choose.

    Arguments:
        before: The settings of the run to continue: the choice was made then.
    """
    listed = candidates(settings)
    if len(listed) == 1:
        return settings
    if before is not None:
        for each in listed:
            same = replace(each, prior_spread=before.prior_spread)
            if prior_settings(same) == prior_settings(before):
                return same
    part = split_of(settings, data).learned_data(data)

    def step(at: Step) -> None:
        on_step(replace(at, phase="choosing"))

    return choose(listed, part, on_step=step).settings
