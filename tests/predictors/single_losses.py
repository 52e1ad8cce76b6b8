"""Errors on all examples, for tests that need no other loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from pacbound.networks.stochastic import StochasticNetwork
from pacbound.predictors.risk import Examples, Loss, losses_per_example, losses_per_weights


def errors_per_example(
    network: StochasticNetwork, examples: Examples, passes: int, seed: str, **options: Any
) -> int:
    everyone = [Loss(np.arange(len(examples[1])))]
    (errors,) = losses_per_example(network, examples, everyone, passes, seed, **options)
    return errors


def errors_per_weights(
    network: StochasticNetwork,
    train: Examples,
    test: Examples | None,
    draws: int,
    batch: int,
    seed: str,
    **options: Any,
) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    everyone = [Loss(np.arange(len(train[1])))]
    found, tested = losses_per_weights(
        network, train, test, everyone, draws, batch, seed, **options
    )
    return list(found[0][1]), tested
