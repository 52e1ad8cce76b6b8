"""The training loop over batches, for posteriors and for learned priors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from pacbound.errors import TrainingDiverged
from pacbound.training.averaging import PolyakAverage
from pacbound.training.saved_state import restore_moments

__all__ = ["Descent", "Evaluated", "OptimizerFactory", "Step", "Totals"]

OptimizerFactory: TypeAlias = Callable[[Iterable[Tensor]], torch.optim.Optimizer]


@dataclass(frozen=True)
class Step:
    """The state of training, for a progress display."""

    phase: str  # "choosing", "prior", "warm-start", "linear" or "bound"
    epoch: int
    epochs: int
    step: int
    steps: int
    risk: float  # zero-one, the mean over this epoch so far
    kl: float
    objective: float
    bound: float | None  # of the weights saved by the last epoch


@dataclass(frozen=True)
class Evaluated:
    """The objective on a batch, to be differentiated, and other figures of the batch."""

    objective: Tensor
    surrogate: float
    errors: int
    kl: float = 0.0


@dataclass
class Totals:
    """Sums over the examples of the current epoch."""

    seen: int = 0
    surrogate: float = 0.0
    errors: int = 0
    objective: float = 0.0
    kl: float = 0.0  # at the last step

    def add(self, count: int, objective: float, evaluated: Evaluated) -> None:
        self.seen += count
        self.surrogate += evaluated.surrogate * count
        self.errors += evaluated.errors
        self.objective += objective * count
        self.kl = evaluated.kl

    @property
    def risk(self) -> float:
        """The error rate."""
        return self.errors / self.seen


class Descent:
    """Optimiser steps on an objective, batch by batch.

    Arguments:
        optimizer: Its learning rates are set before every step.
        average: Follows the parameters, if given.
        examples: The number of examples.
        batch: The number of examples per step.
        what: The name of this training in error messages.
        remedy: The setting to reduce if training diverges.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        average: PolyakAverage | None,
        examples: int,
        batch: int,
        what: str,
        remedy: str,
    ) -> None:
        self.optimizer, self.average = optimizer, average
        self.batch, self.steps = batch, math.ceil(examples / batch)
        self.what, self.remedy = what, remedy

    def epoch(
        self,
        epoch: int,
        order: Tensor,
        rates: Callable[[float], list[float]],
        evaluate: Callable[[Tensor], Evaluated],
        on_step: Callable[[int, float, Totals], None],
        averaged: bool = True,
    ) -> Totals:
        """One pass over the examples.

        Arguments:
            epoch: The number of the epoch.
            order: The indices of the examples, in the order of use.
            rates: The learning rate of each parameter group at a fraction of the epoch.
            evaluate: The objective on the examples with some indices.
            on_step: Called with the step's number, its objective, and the sums so far.
            averaged: Whether the average follows.
        """
        totals = Totals()
        for number in range(self.steps):
            chosen = order[number * self.batch : (number + 1) * self.batch]
            now = rates(number / self.steps)
            for group, rate in zip(self.optimizer.param_groups, now, strict=True):
                group["lr"] = rate
            self.optimizer.zero_grad(set_to_none=True)
            evaluated = evaluate(chosen)
            objective = evaluated.objective.item()
            if not math.isfinite(objective):
                raise TrainingDiverged(
                    f"{self.what} diverged in epoch {epoch} (the objective is {objective}); "
                    f"try a smaller {self.remedy}"
                )
            evaluated.objective.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            if self.average is not None and averaged:
                self.average.update()
            totals.add(len(chosen), objective, evaluated)
            on_step(number + 1, objective, totals)
        return totals

    def state(self) -> dict[str, Any]:
        """The state for `restore`."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "average": self.average.state() if self.average else None,
        }

    def restore(self, optimizer: Any, average: Any) -> None:
        """Continue from a saved state; ValueError if it does not fit."""
        restore_moments(self.optimizer, optimizer)
        if self.average is not None:
            self.average.restore(average)
