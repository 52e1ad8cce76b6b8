"""The variances of a prior, fitted on examples that are not counted."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call

from pacbound.errors import CheckpointError
from pacbound.networks.near_ties import is_error
from pacbound.networks.probe import probe_places
from pacbound.networks.registry import network_named
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import Diag, posterior_named
from pacbound.products import products_in
from pacbound.recipes import Settings
from pacbound.seeds import TrainingNoise, derive

__all__ = ["errors_of", "fitted_variances"]

Examples = tuple[Tensor, Tensor]  # inputs as the network sees them, and labels

SPREADS = [2.0 ** (-k / 2) for k in range(2, 40)]  # a weight's noise, relative to its layer
MOST = 10_000  # examples to fit on
FITTING = 500  # examples at a time; they share a draw if weights must be drawn
DRAWS = 4  # weight draws for as many examples


@torch.no_grad()
def fitted_variances(
    settings: Settings,
    plain: nn.Module,
    center: Mapping[str, Tensor],
    examples: Examples,
) -> tuple[float, ...]:
    """The largest noise that hardly changes the risk on these examples.

    The standard deviation of every group is the same multiple of the root mean square of its
    weights. The multiple is the largest on a list at which the Gibbs risk is within the
    tolerance of the centre's risk. At most `MOST` examples are used.
    """
    probe = StochasticNetwork(plain, center, posterior_named("diag"), (1.0,), settings.blocks)
    groups = probe.variance_groups(settings.variance_groups)
    sizes = [_root_mean_square(probe, center, layers) for layers in groups]
    if network_named(settings.network).is_observed:
        probe.observe(examples[0][probe_places(len(examples[0]))])
    examples = examples[0][:MOST], examples[1][:MOST]
    products = products_in(settings.prior_products, examples[0].device)
    with products:
        calm = _errors(probe, None, examples, len(examples[1]))
    allowed = calm + math.floor(settings.prior_tolerance * len(examples[1]))
    for spread in SPREADS:
        for layers, size in zip(groups, sizes, strict=True):
            for name, q, _ in probe.posteriors(center):
                if name in layers:
                    assert isinstance(q, Diag)
                    q.log_scale.fill_(math.log(spread * size))
        noise = TrainingNoise(derive("prior spread", settings.prior_seed))
        with products:
            found = _errors(probe, noise, examples, allowed)
        if found <= allowed:
            break
    return tuple((spread * size) ** 2 for size in sizes)


def _errors(
    probe: StochasticNetwork, source: TrainingNoise | None, examples: Examples, enough: int
) -> int:
    """The errors, or the first number of errors above `enough`."""
    inputs, labels = examples
    errors = 0
    for first in range(0, len(labels), FITTING):
        rows = slice(first, first + FITTING)
        logits = probe(inputs[rows], source, DRAWS).float()
        errors += int((logits.argmax(1) != labels[rows]).sum())
        if errors > enough:
            break
    return errors


@torch.no_grad()
def errors_of(plain: nn.Module, center: Mapping[str, Tensor], examples: Examples) -> int:
    """The errors of the network with these values; near ties count as errors."""
    inputs, labels = examples
    errors = 0
    for first in range(0, len(labels), FITTING):
        rows = slice(first, first + FITTING)
        logits = functional_call(plain, dict(center), (inputs[rows],))
        errors += int(is_error(logits, labels[rows]).sum())
    return errors


def _root_mean_square(
    probe: StochasticNetwork, center: Mapping[str, Tensor], layers: list[str]
) -> float:
    parts = [value.double() for name, _, value in probe.posteriors(center) if name in layers]
    total = sum(float(part.square().sum()) for part in parts)
    if not total > 0:
        raise CheckpointError(
            f"the prior's layer {layers[0]} learned nothing: try another initializer"
        )
    return math.sqrt(total / sum(part.numel() for part in parts))
