"""The training loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from torch import Tensor, nn

from pacbound.data import Dataset
from pacbound.devices import CPU, Arithmetic
from pacbound.errors import CheckpointError, SettingError
from pacbound.memory import keeping_memory
from pacbound.priors import kind_of
from pacbound.priors.choices import prior_choices
from pacbound.priors.learned import LearnedPrior, prior_settings
from pacbound.priors.split import split_of
from pacbound.recipes import Settings
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.descent import OptimizerFactory, Step
from pacbound.training.given_prior import ensure_unseen, given_prior, refuse_other_weights
from pacbound.training.learned_prior import learn_prior, prior_path
from pacbound.training.log import EpochRecord, TrainingLog, log_path
from pacbound.training.networks import with_structure
from pacbound.training.ranks import ALONE, Ranks
from pacbound.training.run import TrainingRun

__all__ = ["kept_prior", "train"]


@keeping_memory()
def train(
    settings: Settings,
    data: Dataset,
    path: Path | None = None,
    resume: bool = False,
    on_step: Callable[[Step], None] = lambda step: None,
    on_epoch: Callable[[EpochRecord], None] = lambda record: None,
    module: nn.Module | None = None,
    ranks: Ranks = ALONE,
    arithmetic: Arithmetic = CPU,
    optimizer: OptimizerFactory | None = None,
    start: Checkpoint | None = None,
    weights: Mapping[str, Tensor] | None = None,
) -> Checkpoint:
    """Minimise the objective; write a checkpoint to `path` after every epoch.

    The randomness of an epoch is derived from the seed and the epoch's number, so a run that
    was stopped and resumed ends with the same weights as an uninterrupted one.

    Arguments:
        path: The checkpoint; its log is beside it. None to write neither.
        resume: Continue the run that wrote the checkpoint. A finished run is continued if the
            settings have more epochs; the new epochs have their own schedule.
        on_step: Called after every step, also of a learned prior.
        on_epoch: Called after every epoch of the posterior.
        module: The user's own network, if the settings are for one.
        ranks: The processes that train together. The first one writes the files.
        arithmetic: The device and number type. A learned prior is always trained on the CPU, where
            it can be reproduced to the last bit.
        optimizer: Makes an optimiser from parameters; by default Adam with the settings' rate. The
            schedule multiplies its initial rates.
        start: A posterior of the same prior to start from; by default the prior itself.
        weights: The state dict of a prior from elsewhere; by default the values of the module.
    """
    settings = with_structure(settings, module)
    saved = Checkpoint.load(path) if resume and path is not None else None
    if saved is not None:
        settings, start = _continued(settings, saved, data, path)
        if start is None and saved.training is None:
            return saved
    prior_choices(settings)  # a prior that no certificate could pay for is refused now
    split = split_of(settings, data)
    ranks.refuse_unfit(settings.noise_streams, len(split.counted), settings.batch)
    before = start or saved
    prior = before.stored_prior if before is not None else None
    if start is not None and prior is not None:
        _refuse_another_prior(settings, start)
    if prior is None and kind_of(settings).learns:
        prior = _learned(settings, split.learned_data(data), path, on_step, module, ranks)
    if prior is None and kind_of(settings).keeps_values:
        prior = given_prior(settings, data, module, weights)
    elif prior is not None and weights is not None and kind_of(settings).keeps_values:
        refuse_other_weights(prior, settings, data, module, weights)
    ensure_unseen(prior, data)
    run = TrainingRun(settings, data, split, prior, module, ranks, arithmetic, optimizer)
    first = 1
    if start is not None:
        run.begin_at(start)
        first = run.epochs - (settings.epochs - settings.earlier_epochs) + 1
    elif saved is not None:
        run.restore(saved)
        first = saved.epoch + 1
    log = TrainingLog(log_path(path)) if path is not None and ranks.first else None
    kept = log.restart(first - 1) if log is not None else []
    clock = time.monotonic() - (kept[-1].seconds if kept else 0.0)
    checkpoint = None
    prior_seconds = prior.seconds if isinstance(prior, LearnedPrior) else 0.0
    for epoch in range(first, run.epochs + 1):
        figures = run.epoch(epoch, on_step)
        checkpoint = run.checkpoint(epoch)
        if not ranks.first:
            continue
        seconds = time.monotonic() - clock
        record = EpochRecord(epoch=epoch, seconds=seconds, prior_seconds=prior_seconds, **figures)
        # The log first: after a kill between the two, the epoch is run and logged again.
        if log is not None and path is not None:
            log.append(record)
            checkpoint.save(path)
        on_epoch(record)
    assert checkpoint is not None
    return checkpoint


def _continued(
    settings: Settings, saved: Checkpoint, data: Dataset, path: Path | None
) -> tuple[Settings, Checkpoint | None]:
    """The settings to resume with, and the start if a finished run gets more epochs."""
    if saved.data["sha256"] != data.sha256:
        raise CheckpointError(f"{path} was trained on other data than {data.name}")
    before, earlier = saved.settings.epochs, saved.settings.earlier_epochs
    alike = replace(settings, epochs=before, earlier_epochs=earlier) == saved.settings
    if alike and settings.epochs == before:
        return replace(settings, earlier_epochs=earlier) if earlier else settings, None
    if not alike or saved.training is not None:
        raise CheckpointError(f"{path} has other settings: {_difference(saved, settings)}")
    if settings.epochs < before:
        raise SettingError(
            f"{path} has {before} epochs: give more to continue it, not {settings.epochs}"
        )
    return replace(settings, earlier_epochs=before), saved


def _refuse_another_prior(settings: Settings, start: Checkpoint) -> None:
    """Refuse a prior under settings that it was not made with.

    With another split, the certificate would count examples that the prior learned from.
    """
    old, new = prior_settings(start.settings), prior_settings(settings)
    if old != new:
        differing = ", ".join(name for name in old if old[name] != new[name])
        raise SettingError(
            f"the prior was already made with other settings ({differing}): "
            "make another stochastic module"
        )


def _learned(
    settings: Settings,
    part: Dataset,
    path: Path | None,
    on_step: Callable[[Step], None],
    module: nn.Module | None,
    ranks: Ranks,
) -> LearnedPrior:
    """The prior of these settings, trained by the first process or read from its file."""
    file = prior_path(path, settings, part, module) if path is not None else None

    def learn(still_here: Callable[[], None]) -> LearnedPrior:
        def step(at: Step) -> None:
            still_here()
            on_step(at)

        return learn_prior(settings, part, file, step, module)

    return ranks.from_first(learn)


def kept_prior(
    settings: Settings, data: Dataset, path: Path, module: nn.Module | None = None
) -> Path | None:
    """The file of the learned prior beside a checkpoint, if some of it was learned before."""
    settings = with_structure(settings, module)
    if not kind_of(settings).learns:
        return None
    part = split_of(settings, data).learned_data(data)
    file = prior_path(path, settings, part, module)
    return file if file.exists() else None


def _difference(saved: Checkpoint, settings: Settings) -> str:
    old, new = saved.settings.everything(), settings.everything()
    differing = [k for k in old if old[k] != new[k] and k != "earlier_epochs"]
    return ", ".join(f"{k}={old[k]!r} there, {new[k]!r} now" for k in differing)
