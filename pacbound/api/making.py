"""Where a stochastic network comes from: a user's module, or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from torch import nn

from pacbound.api.stochastic_module import StochasticModule
from pacbound.posteriors import posterior_named
from pacbound.priors.choices import prior_choices
from pacbound.priors.declared import Elsewhere, Initialised
from pacbound.recipes import recipe
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.networks import with_structure

__all__ = ["load", "stochastic"]

RECIPE = "module"


def stochastic(
    module: nn.Module,
    posterior: str = "k-linear",
    prior: Initialised | Elsewhere | None = None,
    *,
    settings: Mapping[str, object] | None = None,
) -> StochasticModule:
    """A stochastic network with the architecture of the module.

    Arguments:
        module: A module of supported layers. It is copied; its parameters' values are used only
            in a prior from elsewhere.
        posterior: diag, k-diag, k-linear or k-nonlinear.
        prior: `pacbound.priors.Initialised`, the default, `pacbound.priors.Learned`, or
            `pacbound.priors.elsewhere(state_dict, origin=…)`.
        settings: Other settings, as listed by `pacbound recipes show module`.
    """
    prior = prior or Initialised()
    given = {"posterior": posterior, **prior.settings(), **(settings or {})}
    chosen = with_structure(recipe(RECIPE, given), module)
    posterior_named(chosen.posterior)  # an unknown posterior, or one without a price, fails now
    prior_choices(chosen)
    weights = prior.state if isinstance(prior, Elsewhere) else None
    return StochasticModule(chosen, module, weights)


def load(path: str | os.PathLike[str], module: nn.Module | None = None) -> StochasticModule:
    """Load a stochastic network from a checkpoint of `fit`, `save` or the command line.

    Arguments:
        module: The user's own network, if the checkpoint is of one: a file holds no code.
    """
    return StochasticModule._of(Checkpoint.load(Path(path)), Path(path), module)
