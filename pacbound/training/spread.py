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

__all__ = ["borne_spread", "errors_of", "fitted_variances"]

Examples = tuple[Tensor, Tensor]  # inputs as the network sees them, and labels

SPREADS: list[float] = [
    2.0 ** (-k / 2) for k in range(2, 40)
]  # a weight's noise, relative to its layer
MOST = 10_000  # examples to fit on
CHANGED = 0.1  # the answers that noise may change on new examples, for each error of the centre
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
    weights. The multiple is the largest on a list, and at most `prior_spread`, at which the Gibbs
    risk is within the tolerance of the centre's risk. At most `MOST` examples are used.
    """
    probe = _Probe(settings, plain, center, examples[0])
    examples = examples[0][:MOST], examples[1][:MOST]
    calm = probe.errors(None, examples, len(examples[1]))
    allowed = calm + math.floor(settings.prior_tolerance * len(examples[1]))
    spread = probe.largest_spread(examples, allowed, settings.prior_spread)
    return tuple((spread * size) ** 2 for size in probe.sizes)


@torch.no_grad()
def borne_spread(
    settings: Settings, plain: nn.Module, center: Mapping[str, Tensor], unseen: Examples
) -> float:
    """The largest noise that changes few answers on examples that the centre was not trained on.

    A network that fits its training examples to the last one keeps its answers there under a noise
    that changes them on new examples. Changed answers are counted and not errors, because errors
    that noise adds and removes cancel by luck. What it adds is at most what it changes.

    Few examples are seen again and again with fresh noise.
    """
    inputs, labels = unseen[0][:MOST], unseen[1][:MOST]
    probe = _Probe(settings, plain, center, inputs)
    answers = probe.answers(inputs)
    errors = max(1, int((answers != labels).sum()))
    times = math.ceil(MOST / len(labels))
    repeated = torch.cat([inputs] * times), torch.cat([answers] * times)
    return probe.largest_spread(repeated, math.floor(CHANGED * errors * times))


class _Probe:
    """A network whose weights have noise of a given size."""

    def __init__(
        self, settings: Settings, plain: nn.Module, center: Mapping[str, Tensor], inputs: Tensor
    ) -> None:
        self.settings, self.center = settings, center
        self.network = StochasticNetwork(
            plain, center, posterior_named("diag"), (1.0,), settings.blocks
        )
        self.groups = self.network.variance_groups(settings.variance_groups)
        self.sizes = [_root_mean_square(self.network, center, layers) for layers in self.groups]
        if network_named(settings.network).is_observed:
            self.network.observe(inputs[probe_places(len(inputs))])

    def answers(self, inputs: Tensor) -> Tensor:
        """The classes without noise."""
        with products_in(self.settings.prior_products, inputs.device):
            batches = torch.split(inputs, FITTING)
            parts = [self.network(rows, None, DRAWS).float() for rows in batches]
        return torch.cat(parts).argmax(1)

    def largest_spread(self, examples: Examples, allowed: int, most: float = 1.0) -> float:
        """The largest noise on the list with at most so many errors; else the smallest."""
        spreads = [spread for spread in SPREADS if spread <= most] or SPREADS[-1:]
        for spread in spreads:
            if self.errors(spread, examples, allowed) <= allowed:
                return spread
        return spreads[-1]

    def errors(self, spread: float | None, examples: Examples, enough: int) -> int:
        """The errors, or the first number of errors above `enough`; None for no noise."""
        source = None
        if spread is not None:
            source = TrainingNoise(derive("prior spread", self.settings.prior_seed))
            self._make_noise(spread)
        inputs, labels = examples
        errors = 0
        with products_in(self.settings.prior_products, inputs.device):
            for first in range(0, len(labels), FITTING):
                rows = slice(first, first + FITTING)
                logits = self.network(inputs[rows], source, DRAWS).float()
                errors += int((logits.argmax(1) != labels[rows]).sum())
                if errors > enough:
                    break
        return errors

    def _make_noise(self, spread: float) -> None:
        for layers, size in zip(self.groups, self.sizes, strict=True):
            for name, q, _ in self.network.posteriors(self.center):
                if name in layers:
                    assert isinstance(q, Diag)
                    q.log_scale.fill_(math.log(spread * size))


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
