"""The empirical risk of the Gibbs predictor, by fresh weights."""

from __future__ import annotations

import copy
import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import torch
from torch import Tensor

from pacbound.certify.chunks import ALONE, Sampler
from pacbound.devices import device_named
from pacbound.networks.digests import tensors_digest
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.seeds import Noise, derive
from pacbound.workers.engine import Chunk

__all__ = ["BATCH", "Examples", "errors_per_example", "errors_per_weights", "is_error"]

Examples: TypeAlias = tuple[Tensor, Tensor]  # inputs as the network sees them, and labels

CHUNK = 2000  # examples that share one derived seed
WEIGHTS_CHUNK = 10  # draws of the weights that share one
BATCH = 500  # examples on which one draw of the weights is judged
TIE = 1e-4  # logits this close, relative to the largest, are too close to call in float32


def is_error(logits: Tensor, labels: Tensor) -> Tensor:
    """Which rows are not surely right.

    The label's logit must beat every other by more than what float32 arithmetic could have
    added; a tie, a near tie and a NaN count as errors, so rounding never flatters the risk.
    """
    own = logits.gather(1, labels[:, None]).squeeze(1)
    others = logits.scatter(1, labels[:, None], -torch.inf)
    margin = own - others.max(1).values
    return ~(margin > TIE * logits.abs().max(1).values)


def _digest(examples: Examples | None) -> str:
    """Of what is judged: a data set's own digest does not have its test examples."""
    inputs, labels = examples or (torch.empty(0), torch.empty(0))
    return tensors_digest({"inputs": inputs, "labels": labels})


def _elsewhere(device: str) -> list[str]:
    """What tells the results of a device from those of the CPU."""
    return [] if device == "cpu" else [device]


def _all_err(
    network: StochasticNetwork, inputs: Tensor, labels: Tensor, source: Noise, at_once: int
) -> Tensor:
    """Where every one of so many independent draws of the weights errs."""
    wrong = is_error(network(inputs, source), labels)
    for _ in range(at_once - 1):
        wrong &= is_error(network(inputs, source), labels)
    return wrong


@dataclass(frozen=True)
class _PerExample:
    """Draws of single examples, each with weights of its own; a chunk's result is its errors."""

    network: StochasticNetwork
    examples: Examples
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
        parts = _digest(self.examples), *sizes, *_elsewhere(self.device)
        return derive("errors per example", self.seed, *parts)

    def begin(self) -> Chunk:
        device = device_named(self.device)
        own = copy.deepcopy(self.network).to(device)
        own.recall()
        inputs, labels = (tensor.to(device) for tensor in self.examples)

        def errors(number: int) -> int:
            # All passes over a part follow one another: what they have in common is computed once.
            part, turn = divmod(number, self.passes)
            rows = slice(part * CHUNK, (part + 1) * CHUNK)
            source = Noise(derive("risk chunk", self.seed, turn * self.parts + part), device)
            return int(_all_err(own, inputs[rows], labels[rows], source, self.at_once).sum())

        return errors


def errors_per_example(
    network: StochasticNetwork,
    examples: Examples,
    passes: int,
    seed: str,
    sampler: Sampler = ALONE,
    at_once: int = 1,
    device: str = "cpu",
) -> int:
    """Errors in `passes` draws of every example, each draw with weights of its own.

    With two networks at once an error is one that both make, drawn independently. Noise is the
    same on every device; of draws that end in a near tie, rounding decides which count as errors.

    Valid when: every layer draws independent weights for every example.
    """
    if not network.draws_per_example():
        raise ValueError("a layer of this network shares its weights among examples")
    work = _PerExample(network, examples, passes, seed, at_once, device)
    return sum(sampler.results("sampling the risk", work))


@dataclass(frozen=True)
class _PerWeights:
    """Draws of whole weights; a chunk's result is the errors of each, in training and test."""

    network: StochasticNetwork
    train: Examples
    test: Examples | None
    draws: int
    batch: int
    seed: str
    at_once: int
    device: str = "cpu"

    @property
    def tested(self) -> int:
        """Test examples that are judged, each by another draw."""
        return min(self.draws, len(self.test[1])) if self.test is not None else 0

    @property
    def chunks(self) -> int:
        return math.ceil(self.draws / WEIGHTS_CHUNK)

    @cached_property
    def identity(self) -> str:
        examples = _digest(self.train), _digest(self.test)
        sizes = self.draws, self.batch, WEIGHTS_CHUNK, self.at_once
        return derive("errors per weights", self.seed, *examples, *sizes, *_elsewhere(self.device))

    def begin(self) -> Chunk:
        device = device_named(self.device)
        own = copy.deepcopy(self.network).to(device)

        def errors(number: int) -> list[tuple[int, int]]:
            source = Noise(derive("risk weights", self.seed, number), device)
            first = number * WEIGHTS_CHUNK
            draws = range(first, min(first + WEIGHTS_CHUNK, self.draws))
            return [self._judge(own, draw, source) for draw in draws]

        return errors

    def _judge(self, network: StochasticNetwork, draw: int, source: Noise) -> tuple[int, int]:
        chosen = source.choice(len(self.train[1]), self.batch).to(self.train[1].device)
        inputs, labels = self.train[0][chosen], self.train[1][chosen]
        if self.test is not None and draw < self.tested:
            inputs = torch.cat([inputs, self.test[0][draw : draw + 1]])
            labels = torch.cat([labels, self.test[1][draw : draw + 1]])
        inputs, labels = inputs.to(source.device), labels.to(source.device)
        wrong = _all_err(network, inputs, labels, source, self.at_once)
        return int(wrong[: self.batch].sum()), int(wrong[self.batch :].sum())


def errors_per_weights(
    network: StochasticNetwork,
    train: Examples,
    test: Examples | None,
    draws: int,
    batch: int,
    seed: str,
    sampler: Sampler = ALONE,
    at_once: int = 1,
    device: str = "cpu",
) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """How many draws of the weights made how many errors, each on a random batch of its own.

    The batch is drawn uniformly with replacement, so every draw's mean is the empirical risk.
    Draw k also judges test example k, as long as there are such: each test example is judged once
    and by weights of its own. Returns the histogram, and the errors and examples of the test.
    """
    work = _PerWeights(network, train, test, draws, batch, seed, at_once, device)
    rows = [row for rows in sampler.results("sampling the risk", work) for row in rows]
    counts = sorted(Counter(errors for errors, _ in rows).items())
    return counts, (sum(wrong for _, wrong in rows), work.tested)
