"""A training problem built from its settings: the prior and a stochastic network around it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from pacbound.data import Dataset
from pacbound.errors import CheckpointError
from pacbound.networks.digests import tensors_digest
from pacbound.networks.initializers import prior_center
from pacbound.networks.probe import probe_places, refuse_misbehaviour, refuse_scaled_tokens
from pacbound.networks.registry import network_named
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.networks.values import take_values
from pacbound.posteriors import posterior_named
from pacbound.priors.initialised import initialised_center
from pacbound.priors.stored import StoredPrior
from pacbound.recipes import Settings
from pacbound.training.networks import network_inputs, plain_network

__all__ = ["Problem", "build", "build_for", "observe"]


@dataclass(frozen=True)
class Problem:
    """A stochastic network at its prior, that prior, and the plain network.

    The centre includes the prior's constants: frozen parameters and buffers. The variances are
    those that the prior fixes, one for every variance group. A prior without data fixes none: any
    variance on the grid may be chosen at its price. The plain network has the centre's values.
    """

    network: StochasticNetwork
    center: dict[str, Tensor]
    variances: tuple[float, ...] | None
    prior_sha256: str
    plain: nn.Module


def build(
    settings: Settings,
    input_shape: tuple[int, ...],
    classes: int,
    module: nn.Module | None = None,
    stored: StoredPrior | None = None,
) -> Problem:
    """The posterior around its prior, which is stored or made from a seed.

    Arguments:
        module: The user's own network, if the settings are for one.
        stored: The prior, if it cannot be made from a seed. If it fixes its variances, the
            posterior starts at the prior itself, where its KL is 0.
    """
    plain = plain_network(settings, input_shape, classes, module)
    family = posterior_named(
        settings.posterior,
        kind=settings.flow,
        hidden=settings.flow_hidden,
        steps=settings.flow_steps,
        seed=str(settings.seed),
    )
    if stored is not None:
        stored.ensure_fits(plain)
        center = mean = stored.center
    else:
        center = mean = initialised_center(plain, settings)
        if settings.start != "prior":
            mean = center | prior_center(plain, settings.start, settings.prior_seed)
    take_values(plain, center)
    variances = stored.variances if stored is not None else None
    scales = settings.initial_scale
    if variances is not None:
        scales = tuple(math.sqrt(variance) for variance in variances)
    across = settings.block_maps == "across"
    network = StochasticNetwork(
        plain, mean, family, scales, settings.blocks, settings.later_scale, across
    )
    groups = network.variance_groups(settings.variance_groups)
    if variances is not None and len(variances) != len(groups):
        raise CheckpointError("the prior must have one variance for each variance group")
    return Problem(network, center, variances, tensors_digest(center), plain)


def build_for(
    settings: Settings,
    data: Dataset,
    module: nn.Module | None = None,
    stored: StoredPrior | None = None,
) -> Problem:
    """The same for examples. A few of them are used to probe a network that must be observed."""
    problem = build(settings, data.input_shape, data.classes, module, stored)
    if network_named(settings.network).is_observed:
        observe(problem, settings, data)
    return problem


def observe(problem: Problem, settings: Settings, data: Dataset) -> None:
    """Probe a network on a few examples, and observe how it uses its layers."""
    places = probe_places(data.m)
    raw = data.train_inputs[places if data.m > 1 else [0, 0]]  # one row is not yet a batch
    few = network_inputs(settings, raw)
    if raw.dtype == np.uint8:
        refuse_scaled_tokens(problem.plain, few)
    refuse_misbehaviour(problem.plain, few, data.classes)
    problem.network.observe(few)
