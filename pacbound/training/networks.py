"""The plain network of the settings, and its inputs for raw inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from torch import Tensor, nn

from pacbound.errors import ModuleError, by_caller
from pacbound.networks.columns import ColumnScaling
from pacbound.networks.input_map import map_inputs
from pacbound.networks.own import Constancy, prepared, refuse_wide, structure_digest
from pacbound.networks.registry import network_named
from pacbound.networks.values import freeze
from pacbound.priors import kind_of
from pacbound.recipes import Settings
from pacbound.training.augmentation import MIRRORING

__all__ = ["constancy", "network_inputs", "plain_network", "with_structure"]


def with_structure(settings: Settings, module: nn.Module | None) -> Settings:
    """The settings with the digest of the user's module, if they have none."""
    if module is None or not network_named(settings.network).is_given or settings.structure:
        return settings
    return replace(settings, structure=structure_digest(prepared(module, constancy(settings))))


def constancy(settings: Settings) -> Constancy:
    """Which tensors of a network may be constants of the prior of these settings."""
    kind = kind_of(settings)
    return Constancy(kind.keeps_values, kind.learns, settings.frozen, settings.constants)


def plain_network(
    settings: Settings,
    input_shape: tuple[int, ...],
    classes: int,
    module: nn.Module | None = None,
) -> nn.Module:
    """The network of the settings, for an input shape and a number of classes.

    Arguments:
        module: The user's own network, if the settings are for one. It is never imported by a name
            in the settings: they may come from a file, and importing runs code.
    """
    network = network_named(settings.network)
    if network.build is None:
        return _own_network(settings, module)
    if module is not None:
        raise ModuleError(f"the network is {settings.network}, a built-in one: it takes no module")
    options = {}
    if network.allows_batch_norm:
        options["batch_norm"] = settings.batch_norm
    if network.can_mirror:
        options["mirrors"] = settings.prior_augmentation in MIRRORING
    built = network.build(input_shape, settings.hidden, classes, **options)
    if settings.prior_scaling == "columns":
        built = nn.Sequential(ColumnScaling(input_shape), built)
    freeze(built, settings.frozen)
    return built.eval() if network.learns_statistics else built  # the prior has its statistics


def _own_network(settings: Settings, module: nn.Module | None) -> nn.Module:
    if module is None:
        name = settings.model or "PACKAGE.MODULE:FACTORY"
        raise ModuleError(
            "the network is a module of your own, and making it runs code: "
            + by_caller(f"name it with --model {name}", "give the module")
        )
    own = prepared(module, constancy(settings))
    if structure_digest(own) != settings.structure:
        raise ModuleError(
            "the module's layers differ from the settings: the digest of its structure "
            f"begins {structure_digest(own)[:12]}, not {settings.structure[:12] or 'with anything'}"
        )
    refuse_wide(own, settings.posterior)
    return own


def network_inputs(settings: Settings, inputs: np.ndarray) -> Tensor:
    """The network's inputs for raw inputs."""
    return map_inputs(
        inputs,
        settings.input_scale,
        settings.smoothing,
        settings.alignment,
        settings.input_shift,
    )
