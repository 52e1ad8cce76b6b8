"""Train a learned prior again and compare: is it the same, and if not, how far apart are they?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pacbound.data import Dataset
from pacbound.errors import CheckpointError
from pacbound.networks.values import take_values
from pacbound.priors.learned import LearnedPrior
from pacbound.recipes import Settings
from pacbound.training.networks import network_inputs, plain_network

__all__ = ["PriorDiffers", "Replay", "compare_priors"]

CHUNK = 2000  # examples at a time


class PriorDiffers(UserWarning):
    """A prior that was trained again on another kind of machine has different bits."""


@dataclass(frozen=True)
class Replay:
    """The comparison of a prior with its replay from the same settings and examples.

    `weight_distance` is the norm of the difference relative to that of the recorded weights.
    `prediction_disagreement` is the share of the prior's own examples with another predicted class.
    `variance_ratio` is the largest ratio of two variances of one group.
    """

    same_machine: bool
    identical: bool
    weight_distance: float
    prediction_disagreement: float
    variance_ratio: float = 1.0

    def words(self) -> str:
        """The result, and what it does and does not show."""
        if self.identical:
            where = "the same" if self.same_machine else "another"
            return (
                f"The prior, trained again on {where} kind of machine, is the same bit for bit: it "
                "follows from its settings and its part of the examples alone."
            )
        return (
            "The prior was trained on another kind of machine. Trained again here, its weights "
            f"differ by {self.weight_distance:.2g} of their norm, its variances by a factor of up "
            f"to {self.variance_ratio:.3g}, and {self.prediction_disagreement:.2%} of its examples "
            "get another class. Rounding differs between machines and training amplifies it. So a "
            "small distance makes it plausible that the prior saw only its part, and does not "
            "prove it; a large one does not refute it. The same kind of machine would decide."
        )


def compare_priors(
    recorded: LearnedPrior,
    again: LearnedPrior,
    settings: Settings,
    part: Dataset,
    module: nn.Module | None = None,
) -> Replay:
    """Compare a prior with its replay. Different bits on the same kind of machine are refused.

    Arguments:
        part: The examples that it was trained on.
        module: The user's own network, if the settings are for one.
    """
    same_machine = recorded.machine == again.machine
    identical = recorded.sha256 == again.sha256 and recorded.variances == again.variances
    if same_machine and not identical:
        raise CheckpointError(
            "the prior, trained again from its seed on its part of the examples on the same kind "
            f"of machine, is another: its sha256 begins {again.sha256[:12]}, not "
            f"{recorded.sha256[:12]}"
            + (", and its variances differ" if recorded.variances != again.variances else "")
        )
    if recorded.center.keys() != again.center.keys():
        raise CheckpointError("the prior, trained again, has other tensors than the recorded one")
    classes = [_classes(each, settings, part, module) for each in (recorded, again)]
    ratios = [max(a / b, b / a) for a, b in zip(recorded.variances, again.variances, strict=True)]
    return Replay(
        same_machine,
        identical,
        _distance(recorded.center, again.center),
        float((classes[0] != classes[1]).double().mean()),
        max(ratios),
    )


def _distance(recorded: dict[str, Tensor], again: dict[str, Tensor]) -> float:
    pairs = [(value.double(), again[name].double()) for name, value in recorded.items()]
    apart = sum(float((a - b).square().sum()) for a, b in pairs)
    size = sum(float(a.square().sum()) for a, _ in pairs)
    return math.sqrt(apart / size) if size else math.inf


@torch.no_grad()
def _classes(
    prior: LearnedPrior, settings: Settings, part: Dataset, module: nn.Module | None
) -> Tensor:
    network = plain_network(settings, part.input_shape, part.classes, module)
    take_values(network, prior.center)
    inputs = network_inputs(settings, part.train_inputs)
    firsts = range(0, len(inputs), CHUNK)
    return torch.cat([network(inputs[first : first + CHUNK]).argmax(1) for first in firsts])
