"""The empirical risk of the Gibbs predictor, by fresh weights."""

from __future__ import annotations

import math
from collections import Counter

import torch
from torch import Tensor

from pacbound.certify.chunks import Report, over_chunks, silent
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.seeds import Noise, derive

__all__ = [
    "BATCH",
    "errors_one_by_one",
    "errors_per_example",
    "errors_per_weights",
    "is_error",
]

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


def errors_per_example(
    network: StochasticNetwork,
    inputs: Tensor,
    labels: Tensor,
    passes: int,
    seed: str,
    workers: int = 1,
    report: Report = silent,
) -> int:
    """Errors in `passes` draws of every example, each draw with weights of its own.

    Valid when: every layer draws independent weights for every example.
    """
    if not network.draws_per_example():
        raise ValueError("a layer of this network shares its weights among examples")
    parts = math.ceil(len(labels) / CHUNK)

    def work(own: StochasticNetwork, number: int) -> int:
        first = number % parts * CHUNK
        part = slice(first, first + CHUNK)
        source = Noise(derive("risk chunk", seed, number))
        return int(is_error(own(inputs[part], source), labels[part]).sum())

    return sum(over_chunks("sampling the risk", network, passes * parts, work, workers, report))


def errors_per_weights(
    network: StochasticNetwork,
    inputs: Tensor,
    labels: Tensor,
    draws: int,
    batch: int,
    seed: str,
    workers: int = 1,
    report: Report = silent,
) -> list[tuple[int, int]]:
    """How many draws of the weights made how many errors, each on a random batch of its own.

    The batch is drawn uniformly with replacement, so every draw's mean is the empirical risk.
    """

    def work(own: StochasticNetwork, number: int) -> list[int]:
        source = Noise(derive("risk weights", seed, number))
        counts = []
        for _ in range(min(WEIGHTS_CHUNK, draws - number * WEIGHTS_CHUNK)):
            chosen = source.choice(len(labels), batch)
            logits = own(inputs[chosen], source)
            counts.append(int(is_error(logits, labels[chosen]).sum()))
        return counts

    chunks = math.ceil(draws / WEIGHTS_CHUNK)
    results = over_chunks("sampling the risk", network, chunks, work, workers, report)
    return sorted(Counter(count for counts in results for count in counts).items())


def errors_one_by_one(
    network: StochasticNetwork, inputs: Tensor, labels: Tensor, seed: str, workers: int = 1
) -> int:
    """Errors when every example is judged once, by a whole network drawn for it alone."""

    def work(own: StochasticNetwork, number: int) -> int:
        source = Noise(derive("one by one", seed, number))
        part = slice(number * WEIGHTS_CHUNK, (number + 1) * WEIGHTS_CHUNK)
        return sum(
            int(is_error(own(example[None], source), label[None]).sum())
            for example, label in zip(inputs[part], labels[part], strict=True)
        )

    chunks = math.ceil(len(labels) / WEIGHTS_CHUNK)
    return sum(over_chunks("testing", network, chunks, work, workers, silent))
