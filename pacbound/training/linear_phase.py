"""The linear phase of a posterior that starts as another one."""

from __future__ import annotations

from dataclasses import replace

from pacbound.data import Dataset
from pacbound.devices import CPU
from pacbound.errors import SettingError
from pacbound.posteriors import posterior_kind
from pacbound.priors.split import split_of
from pacbound.recipes import Settings
from pacbound.training.checkpoints import Checkpoint, stored
from pacbound.training.objectives import OBJECTIVES
from pacbound.training.ranks import ALONE
from pacbound.training.run import TrainingRun

__all__ = ["after_linear_phase", "alike", "linear_settings"]


def linear_settings(settings: Settings) -> Settings | None:
    """The settings whose whole training is the linear phase of these; None without such a phase.

    None too if the weight of the KL grows during training, because it grows over all phases
    together, or if it or the prior's variance is trained, because checkpoints do not keep these.
    """
    first = posterior_kind(settings.posterior).starts_as
    if not first or not settings.linear_epochs or settings.earlier_epochs:
        return None
    if settings.beta_annealing or settings.prior_variance == "trained":
        return None
    if settings.objective in OBJECTIVES and OBJECTIVES[settings.objective].is_trained:
        return None
    return replace(settings, posterior=first, epochs=settings.linear_epochs, linear_epochs=0)


def after_linear_phase(settings: Settings, data: Dataset, linear: Checkpoint) -> Checkpoint:
    """A run with these settings after its linear phase, taken from a training that was just this.

    It ends with the same weights as a run that trains the linear phase itself.

    Arguments:
        linear: The finished training with `linear_settings`.
    """
    first = linear_settings(settings)
    if first is None or linear.training is not None or not alike(linear.settings, first):
        raise SettingError("the checkpoint is not that of the linear phase of these settings")
    split, prior = split_of(settings, data), linear.stored_prior
    run = TrainingRun(settings, data, split, prior, None, ALONE, CPU, None)
    flows = stored(run.network)  # they start as the identity
    run.begin_at(replace(linear, posterior={**flows, **linear.posterior}))
    if run.average is not None:
        run.average.update()
    return run.checkpoint(settings.warm_start_epochs + settings.linear_epochs)


def alike(one: Settings, other: Settings) -> bool:
    """Whether two settings are the same but for flows, which a linear training does not use."""
    unused = ("flow", "flow_hidden", "flow_steps", "flow_learning_rate", "kl_samples")
    mappings = [settings.everything() for settings in (one, other)]
    return all(mappings[0][key] == mappings[1][key] for key in mappings[0] if key not in unused)
