"""The empirical risk of the Gibbs predictor, by fresh weights for every example and draw."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from pacbound.networks.stochastic import StochasticNetwork
from pacbound.seeds import Noise, derive

__all__ = ["OnChunk", "count_errors", "is_error", "silent"]

# Called with the chunks done, the chunks in all, and the errors and draws so far.
OnChunk = Callable[[int, int, int, int], None]

CHUNK = 2000  # examples that share one derived seed
TIE = 1e-4  # logits this close, relative to the largest, are too close to call in float32


@dataclass(frozen=True)
class _Chunk:
    number: int
    first: int
    last: int


def silent(chunks: int, total: int, errors: int, draws: int) -> None:
    """Report nothing."""


def is_error(logits: Tensor, labels: Tensor) -> Tensor:
    """Which rows are not surely right.

    The label's logit must beat every other by more than what float32 arithmetic could have
    added; a tie, a near tie and a NaN count as errors, so rounding never flatters the risk.
    """
    own = logits.gather(1, labels[:, None]).squeeze(1)
    others = logits.scatter(1, labels[:, None], -torch.inf)
    margin = own - others.max(1).values
    return ~(margin > TIE * logits.abs().max(1).values)


def count_errors(
    network: StochasticNetwork,
    inputs: Tensor,
    labels: Tensor,
    passes: int,
    seed: str,
    workers: int = 1,
    on_chunk: OnChunk = silent,
) -> int:
    """Errors in `passes` draws of every example, each draw with weights of its own.

    Chunks have derived seeds, so the count is the same for any number of workers.

    Valid when: every stochastic layer draws independent weights for every example.
    """
    chunks = list(_chunks(len(labels), passes))
    # A network holds its source of noise, so each worker has a network of its own.
    networks = [network, *(copy.deepcopy(network) for _ in range(workers - 1))]

    def work(share: tuple[StochasticNetwork, list[_Chunk]]) -> int:
        own, mine = share
        errors = 0
        with torch.inference_mode():
            for chunk in mine:
                part = slice(chunk.first, chunk.last)
                source = Noise(derive("risk chunk", seed, chunk.number))
                wrong = is_error(own(inputs[part], source), labels[part])
                errors += int(wrong.sum())
        return errors

    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, threads // workers))
    errors = draws = done = 0
    try:
        with ThreadPoolExecutor(workers) as pool:
            waiting = iter(chunks)
            while batch := list(islice(waiting, 4 * workers)):
                shares = [(own, batch[i::workers]) for i, own in enumerate(networks)]
                errors += sum(pool.map(work, shares))
                draws += sum(chunk.last - chunk.first for chunk in batch)
                done += len(batch)
                on_chunk(done, len(chunks), errors, draws)
    finally:
        torch.set_num_threads(threads)
    return errors


def _chunks(examples: int, passes: int) -> Iterator[_Chunk]:
    number = 0
    for _ in range(passes):
        for first in range(0, examples, CHUNK):
            yield _Chunk(number, first, min(first + CHUNK, examples))
            number += 1
