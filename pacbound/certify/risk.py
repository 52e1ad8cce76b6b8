"""The empirical risk of the Gibbs predictor, by fresh weights."""

from __future__ import annotations

import math
from collections import Counter
from typing import TypeAlias

import torch
from torch import Tensor

from pacbound.certify.chunks import Report, over_chunks, silent
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.seeds import Noise, derive

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


def _all_err(
    network: StochasticNetwork, inputs: Tensor, labels: Tensor, source: Noise, at_once: int
) -> Tensor:
    """Where every one of so many independent draws of the weights errs."""
    wrong = is_error(network(inputs, source), labels)
    for _ in range(at_once - 1):
        wrong &= is_error(network(inputs, source), labels)
    return wrong


def errors_per_example(
    network: StochasticNetwork,
    examples: Examples,
    passes: int,
    seed: str,
    workers: int = 1,
    report: Report = silent,
    at_once: int = 1,
) -> int:
    """Errors in `passes` draws of every example, each draw with weights of its own.

    With two networks at once an error is one that both make, drawn independently.

    Valid when: every layer draws independent weights for every example.
    """
    if not network.draws_per_example():
        raise ValueError("a layer of this network shares its weights among examples")
    inputs, labels = examples
    parts = math.ceil(len(labels) / CHUNK)

    def work(own: StochasticNetwork, number: int) -> int:
        first = number % parts * CHUNK
        part = slice(first, first + CHUNK)
        source = Noise(derive("risk chunk", seed, number))
        return int(_all_err(own, inputs[part], labels[part], source, at_once).sum())

    return sum(over_chunks("sampling the risk", network, passes * parts, work, workers, report))


def errors_per_weights(
    network: StochasticNetwork,
    train: Examples,
    test: Examples | None,
    draws: int,
    batch: int,
    seed: str,
    workers: int = 1,
    report: Report = silent,
    at_once: int = 1,
) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """How many draws of the weights made how many errors, each on a random batch of its own.

    The batch is drawn uniformly with replacement, so every draw's mean is the empirical risk.
    Draw k also judges test example k, as long as there are such: each test example is judged once
    and by weights of its own. Returns the histogram, and the errors and examples of the test.
    """
    tested = min(draws, len(test[1])) if test is not None else 0

    def work(own: StochasticNetwork, number: int) -> list[tuple[int, int]]:
        source = Noise(derive("risk weights", seed, number))
        first = number * WEIGHTS_CHUNK
        results = []
        for draw in range(first, min(first + WEIGHTS_CHUNK, draws)):
            chosen = source.choice(len(train[1]), batch)
            inputs, labels = train[0][chosen], train[1][chosen]
            if test is not None and draw < tested:
                inputs = torch.cat([inputs, test[0][draw : draw + 1]])
                labels = torch.cat([labels, test[1][draw : draw + 1]])
            wrong = _all_err(own, inputs, labels, source, at_once)
            results.append((int(wrong[:batch].sum()), int(wrong[batch:].sum())))
        return results

    chunks = math.ceil(draws / WEIGHTS_CHUNK)
    results = over_chunks("sampling the risk", network, chunks, work, workers, report)
    rows = [row for rows in results for row in rows]
    counts = sorted(Counter(errors for errors, _ in rows).items())
    return counts, (sum(wrong for _, wrong in rows), tested)
