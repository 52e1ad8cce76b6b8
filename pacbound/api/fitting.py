"""One run of training: its settings, its processes, and who watches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn

from pacbound.data import Dataset
from pacbound.devices import Arithmetic
from pacbound.recipes import Settings, candidate_keys
from pacbound.recipes.commands import GIVEN
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.choosing import chosen_network
from pacbound.training.descent import OptimizerFactory, Step
from pacbound.training.log import EpochRecord
from pacbound.training.loop import train
from pacbound.training.progress import Callback, training_progress
from pacbound.training.ranks import joined

__all__ = ["Run", "run_settings"]


def run_settings(now: Settings, given: Mapping[str, object], data: Dataset, label: str) -> Settings:
    """The settings of a run, with the name that the command gives the data, if any."""
    values = now.everything() | {"epochs": now.epochs - now.earlier_epochs}
    given = {key: value for key, value in given.items() if value is not None}
    if now.prior_choice != "none" and set(given) & candidate_keys(now.recipe):
        given = {"prior_choice": "none"} | given  # what is given is not chosen
    values |= given
    values |= {"data": data.origin or GIVEN, "earlier_epochs": 0}
    return Settings.from_mapping(values | ({"label": label} if label else {}))


@dataclass(frozen=True)
class Run:
    """One run of training, in this process or in several that train together.

    Arguments:
        path: The checkpoint to write; None for no file.
        resume: Continue the run that wrote the checkpoint.
        module: The user's own network, if the settings are for one.
        weights: The state dict of a prior from elsewhere.
        start: The posterior to continue from; None to start at the prior.
        callbacks: Called after steps and epochs.
        progress: Show the bound on stderr.
    """

    settings: Settings
    examples: Dataset
    path: Path | None
    resume: bool
    module: nn.Module | None
    weights: Mapping[str, Tensor] | None
    arithmetic: Arithmetic
    optimizer: OptimizerFactory | None
    start: Checkpoint | None
    callbacks: Sequence[Callback]
    progress: bool

    def train(self) -> tuple[Checkpoint, list[EpochRecord]]:
        """The trained posterior, and the epochs of this run."""
        path, resume = self.path, self.resume
        records: list[EpochRecord] = []
        watching = [*self.callbacks, Callback(on_epoch=records.append)]

        def on_step(step: Step) -> None:
            for watch in watching:
                watch.on_step(step)

        def on_epoch(record: EpochRecord) -> None:
            for watch in watching:
                watch.on_epoch(record)

        with ExitStack() as stack:
            ranks = stack.enter_context(joined(self.arithmetic.device))
            if self.progress and ranks.first:
                watching.append(stack.enter_context(training_progress(self.settings.objective)))
            saved = Checkpoint.load(path).settings if resume and path is not None else None

            def decide(still_here: Callable[[], None]) -> Settings:
                def step(at: Step) -> None:
                    still_here()
                    on_step(at)

                return chosen_network(self.settings, self.examples, saved, step)

            made = train(
                ranks.from_first(decide),
                self.examples,
                path,
                resume,
                on_step,
                on_epoch,
                self.module,
                ranks,
                self.arithmetic,
                self.optimizer,
                self.start,
                self.weights,
            )
        return made, records
