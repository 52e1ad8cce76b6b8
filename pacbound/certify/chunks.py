"""Independent chunks of Monte Carlo work, on any number of workers with the same result."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from pacbound.networks.stochastic import StochasticNetwork

__all__ = ["Report", "over_chunks", "silent"]

R = TypeVar("R")

# Called with what is being done, the chunks done, and the chunks in all.
Report = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


def over_chunks(
    what: str,
    network: StochasticNetwork,
    chunks: int,
    work: Callable[[StochasticNetwork, int], R],
    workers: int,
    report: Report,
) -> list[R]:
    """The results of `work` for chunk 0, 1, …, in that order.

    A chunk's randomness must come from its number alone. A network holds its source of noise, so
    each worker has a network of its own.
    """
    networks = [network, *(copy.deepcopy(network) for _ in range(workers - 1))]
    results: list[R] = []

    def one(place: tuple[int, int]) -> R:
        worker, number = place
        with torch.inference_mode():
            return work(networks[worker], number)

    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, threads // workers))
    try:
        with ThreadPoolExecutor(workers) as pool:
            for first in range(0, chunks, workers):
                numbers = range(first, min(first + workers, chunks))
                results += pool.map(one, enumerate(numbers))
                report(what, len(results), chunks)
    finally:
        torch.set_num_threads(threads)
    return results
