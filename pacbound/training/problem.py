"""A training problem built from its settings: the prior and a stochastic network around it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor, nn

from pacbound.data import Dataset
from pacbound.errors import CheckpointError
from pacbound.networks.digests import tensors_digest
from pacbound.networks.initializers import prior_center
from pacbound.networks.probe import probe_places, refuse_misbehaviour
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import posterior_named
from pacbound.priors.initialised import initialised_center
from pacbound.priors.learned import LearnedPrior
from pacbound.recipes import Settings
from pacbound.training.networks import network_inputs, plain_network

__all__ = ["Problem", "build", "build_for", "observe"]


@dataclass(frozen=True)
class Problem:
    """A stochastic network at its prior, that prior, and the plain network.

    The variances are those of a learned prior, one for every variance group. A prior without data
    fixes none: any variance on the grid may be chosen at its price.
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
    learned: LearnedPrior | None = None,
) -> Problem:
    """The posterior around its prior, which is learned or made from a seed.

    Arguments:
        module: The user's own network, if the settings are for one.
        learned: The prior, if the settings are for a learned one. The posterior then starts at the
            prior itself, where its KL is 0.
    """
    plain = plain_network(settings, input_shape, classes, module)
    family = posterior_named(
        settings.posterior,
        kind=settings.flow,
        hidden=settings.flow_hidden,
        steps=settings.flow_steps,
        seed=str(settings.seed),
    )
    if learned is not None:
        learned.ensure_fits(plain)
        center = mean = learned.center
        variances, digest = learned.variances, learned.sha256
        scales = tuple(math.sqrt(variance) for variance in variances)
    else:
        center = mean = initialised_center(plain, settings)
        if settings.start != "prior":
            mean = prior_center(plain, settings.start, settings.prior_seed)
        variances, digest, scales = None, tensors_digest(center), settings.initial_scale
    network = StochasticNetwork(plain, mean, family, scales)
    groups = network.variance_groups(settings.variance_groups)
    if variances is not None and len(variances) != len(groups):
        raise CheckpointError("the learned prior must have one variance for each variance group")
    return Problem(network, center, variances, digest, plain)


def build_for(
    settings: Settings,
    data: Dataset,
    module: nn.Module | None = None,
    learned: LearnedPrior | None = None,
) -> Problem:
    """The same for examples. A few of them are used to probe a user's own network."""
    problem = build(settings, data.input_shape, data.classes, module, learned)
    if module is not None:
        observe(problem, settings, data)
    return problem


def observe(problem: Problem, settings: Settings, data: Dataset) -> None:
    """Probe a user's own network on a few examples, and observe how it uses its layers."""
    few = network_inputs(settings, data.train_inputs[probe_places(data.m)])
    refuse_misbehaviour(problem.plain, few, data.classes)
    problem.network.observe(few)
