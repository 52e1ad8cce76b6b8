"""Losses of networks: one network on every example, and fresh weights by Monte Carlo."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pacbound.devices import device_named
from pacbound.networks.digests import tensors_digest
from pacbound.networks.near_ties import TIE, is_error
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.predictors.chunks import ALONE, Sampler
from pacbound.predictors.judging import Judged, Outputs
from pacbound.seeds import Noise, derive
from pacbound.workers.engine import Chunk

__all__ = [
    "BATCH",
    "Examples",
    "Loss",
    "errors_of",
    "is_error",
    "judge",
    "losses_per_example",
    "losses_per_weights",
    "outputs_of",
    "possible_classes",
]

Examples: TypeAlias = tuple[Tensor, Tensor]  # inputs as the network sees them, and labels
Histogram: TypeAlias = tuple[tuple[int, int], ...]  # (value, times)

CHUNK = 2000  # examples that share one derived seed
JUDGED = 20_000  # examples whose logits are in memory together
WEIGHTS_CHUNK = 10  # draws of the weights that share one derived seed
# Examples on which one draw of the weights is evaluated. The allowance of the betting limit is
# about ln(1/δ)/n for n draws, whatever the batch, so many small batches beat few large ones.
BATCH = 100
COST_SCALE = 1000  # the mean cost of a batch is rounded up to a multiple of 1/1000


def possible_classes(logits: Tensor) -> Tensor:
    """The classes that each row may predict, (n, classes): all tied with the largest logit.

    With a NaN, these are all classes.
    """
    least = logits.max(1, keepdim=True).values - TIE * logits.abs().max(1, keepdim=True).values
    return ~(logits < least)


@dataclass(frozen=True)
class Loss:
    """A loss of single examples in integer units; `scale` units make 1.

    Arguments:
        members: The indices of the examples that it is measured on.
        units: The cost by true and possible class; None for errors, where a unit is one error.
    """

    members: NDArray[np.int64]
    units: NDArray[np.int64] | None = None
    scale: int = 1

    def of(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The units lost in each row; in a tie, the largest cost of a tied class."""
        if self.units is None:
            return is_error(logits, labels).long()
        costs = torch.from_numpy(self.units).to(logits.device)[labels]  # (n, classes)
        return costs.where(possible_classes(logits), 0).max(1).values


def outputs_of(network: nn.Module, inputs: Tensor) -> Outputs:
    """The logits of a plain network, in float32, once for every example."""
    with torch.inference_mode():
        parts = [
            network(inputs[first : first + CHUNK]).numpy() for first in range(0, len(inputs), CHUNK)
        ]
    logits = np.concatenate(parts)
    return Outputs(logits.shape[1], scores=logits)


def judge(network: nn.Module, examples: Examples, answer_above: str = "") -> Judged:
    """Evaluate a plain network once on every example."""
    inputs, labels = examples
    truth, judged = labels.numpy(), []
    for first in range(0, len(labels), JUDGED):
        part = slice(first, first + JUDGED)
        judged.append(outputs_of(network, inputs[part]).judged(truth[part], answer_above))
    return Judged.joined(judged)


def errors_of(network: nn.Module, examples: Examples) -> int:
    """Errors of a plain network, each example once; near ties count as errors."""
    return int(judge(network, examples).wrong.sum())


def _digest(examples: Examples | None) -> str:
    """The digest of the evaluated examples: a data set's own digest excludes its test examples."""
    inputs, labels = examples or (torch.empty(0), torch.empty(0))
    return tensors_digest({"inputs": inputs, "labels": labels})


def _losses_digest(losses: Sequence[Loss]) -> list[str]:
    """The digest of the losses and their members."""
    return [
        tensors_digest(
            {
                "members": torch.from_numpy(loss.members),
                "units": torch.empty(0) if loss.units is None else torch.from_numpy(loss.units),
            }
        )
        for loss in losses
    ]


def _elsewhere(device: str) -> list[str]:
    """A tag that separates the results of other devices from those of the CPU."""
    return [] if device == "cpu" else [device]


def _least_losses(
    network: StochasticNetwork,
    inputs: Tensor,
    labels: Tensor,
    source: Noise,
    at_once: int,
    losses: Sequence[Callable[[Tensor, Tensor], Tensor]],
) -> list[Tensor]:
    """The losses of independent weight draws evaluated together: for each, the smallest."""
    least: list[Tensor] = []
    for _ in range(at_once):
        logits = network(inputs, source)
        own = [loss(logits, labels) for loss in losses]
        least = [a.minimum(b) for a, b in zip(least, own, strict=True)] if least else own
    return least


@dataclass(frozen=True)
class _PerExample:
    """Draws of single examples, each with its own weights; a chunk's result is its losses."""

    network: StochasticNetwork
    examples: Examples
    losses: tuple[Loss, ...]
    passes: int
    seed: str
    at_once: int
    device: str = "cpu"

    @property
    def parts(self) -> int:
        return math.ceil(len(self.examples[1]) / CHUNK)

    @property
    def chunks(self) -> int:
        return self.passes * self.parts

    @cached_property
    def identity(self) -> str:
        sizes = CHUNK, self.passes, self.at_once
        parts = _digest(self.examples), *_losses_digest(self.losses), *sizes
        return derive("losses per example", self.seed, *parts, *_elsewhere(self.device))

    def begin(self) -> Chunk:
        device = device_named(self.device)
        own = copy.deepcopy(self.network).to(device)
        own.recall()
        inputs, labels = (tensor.to(device) for tensor in self.examples)
        belongs = torch.zeros(len(self.losses), len(labels), dtype=torch.bool)
        for row, loss in zip(belongs, self.losses, strict=True):
            row[torch.from_numpy(loss.members)] = True
        belongs = belongs.to(device)
        # Losses of the same kind differ only in their members: each kind is evaluated once.
        kinds = list({id(loss.units): loss for loss in self.losses}.values())
        of_kind = [id(loss.units) for loss in kinds]

        def lost(number: int) -> list[int]:
            # All passes over a part follow one another: their common work is done once.
            part, turn = divmod(number, self.passes)
            rows = slice(part * CHUNK, (part + 1) * CHUNK)
            source = Noise(derive("risk chunk", self.seed, turn * self.parts + part), device)
            evaluate = [loss.of for loss in kinds]
            units = _least_losses(own, inputs[rows], labels[rows], source, self.at_once, evaluate)
            lost_by = dict(zip(of_kind, units, strict=True))
            pairs = zip(self.losses, belongs[:, rows], strict=True)
            return [int(lost_by[id(loss.units)][mine].sum()) for loss, mine in pairs]

        return lost


def losses_per_example(
    network: StochasticNetwork,
    examples: Examples,
    losses: Sequence[Loss],
    passes: int,
    seed: str,
    sampler: Sampler = ALONE,
    at_once: int = 1,
    device: str = "cpu",
) -> list[int]:
    """The total of each loss in `passes` draws of every example, each with its own weights.

    With two networks at once, an error is one that two independent draws both make. Noise is the
    same on every device. In a near tie, rounding decides whether a draw counts as an error.

    Valid when: every layer draws independent weights for every example.
    """
    if not network.draws_per_example():
        raise ValueError("a layer of this network shares its weights among examples")
    work = _PerExample(network, examples, tuple(losses), passes, seed, at_once, device)
    chunks = sampler.results("sampling the risk", work)
    return [sum(values) for values in zip(*chunks, strict=True)]


@dataclass(frozen=True)
class _PerWeights:
    """Draws of whole weights; a chunk's result is the losses of each, then the test error."""

    network: StochasticNetwork
    train: Examples
    test: Examples | None
    losses: tuple[Loss, ...]
    draws: int
    batch: int
    seed: str
    at_once: int
    device: str = "cpu"

    @property
    def tested(self) -> int:
        """The number of evaluated test examples, each by a different draw."""
        return min(self.draws, len(self.test[1])) if self.test is not None else 0

    @property
    def chunks(self) -> int:
        return math.ceil(self.draws / WEIGHTS_CHUNK)

    @cached_property
    def identity(self) -> str:
        examples = _digest(self.train), _digest(self.test), *_losses_digest(self.losses)
        sizes = self.draws, self.batch, WEIGHTS_CHUNK, self.at_once
        return derive("losses per weights", self.seed, *examples, *sizes, *_elsewhere(self.device))

    def begin(self) -> Chunk:
        device = device_named(self.device)
        own = copy.deepcopy(self.network).to(device)

        def lost(number: int) -> list[list[int]]:
            source = Noise(derive("risk weights", self.seed, number), device)
            first = number * WEIGHTS_CHUNK
            draws = range(first, min(first + WEIGHTS_CHUNK, self.draws))
            return [self._judge(own, draw, source) for draw in draws]

        return lost

    def _judge(self, network: StochasticNetwork, draw: int, source: Noise) -> list[int]:
        batches = []
        for loss in self.losses:
            size = min(self.batch, len(loss.members))
            chosen = source.choice(len(loss.members), size).cpu().numpy()
            batches.append(torch.from_numpy(loss.members[chosen]))
        places = torch.cat(batches)
        inputs, labels = self.train[0][places], self.train[1][places]
        if self.test is not None and draw < self.tested:
            # Spread evenly: with fewer draws than examples, the first ones are not a sample.
            at = draw * len(self.test[1]) // self.tested
            inputs = torch.cat([inputs, self.test[0][at : at + 1]])
            labels = torch.cat([labels, self.test[1][at : at + 1]])
        inputs, labels = inputs.to(source.device), labels.to(source.device)
        kinds = [*(loss.of for loss in self.losses), lambda out, y: is_error(out, y).long()]
        units = _least_losses(network, inputs, labels, source, self.at_once, kinds)
        found, first = [], 0
        for loss, batch, values in zip(self.losses, batches, units, strict=False):
            total = int(values[first : first + len(batch)].sum())
            if loss.units is not None:  # the mean cost, rounded up
                total = math.ceil(Fraction(COST_SCALE * total, loss.scale * len(batch)))
            found.append(total)
            first += len(batch)
        return [*found, int(units[-1][first:].sum())]


def losses_per_weights(
    network: StochasticNetwork,
    train: Examples,
    test: Examples | None,
    losses: Sequence[Loss],
    draws: int,
    batch: int,
    seed: str,
    sampler: Sampler = ALONE,
    at_once: int = 1,
    device: str = "cpu",
) -> tuple[list[tuple[int, Histogram]], tuple[int, int]]:
    """For each loss, the scale and histogram of its means; each draw has its own random batch.

    A batch is drawn uniformly with replacement from the loss's own examples, so the expected mean
    of every draw is the empirical risk on them. Each draw also evaluates one test example while
    there are any: each test example is evaluated once, with its own weights. Returns the
    histograms, and the errors and number of test examples.
    """
    work = _PerWeights(network, train, test, tuple(losses), draws, batch, seed, at_once, device)
    rows = [row for rows in sampler.results("sampling the risk", work) for row in rows]
    found = []
    for place, loss in enumerate(losses):
        scale = min(batch, len(loss.members)) if loss.units is None else COST_SCALE
        found.append((scale, tuple(sorted(Counter(row[place] for row in rows).items()))))
    return found, (sum(row[-1] for row in rows), work.tested)
