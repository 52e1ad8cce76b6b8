"""One training step of each posterior ÷ one of the same deterministic network, same batch.

    python benchmarks/step_cost.py [--batch 500] [--rounds 30]

The steps are interleaved and their medians compared, so that whatever else the machine does falls
on all alike.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch.nn import functional

from pacbound.networks.initializers import prior_center
from pacbound.networks.mlp import mlp
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import posterior_named
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.objectives import objective_named
from pacbound.training.prior_variance import PriorVariance, Tail

M, CLASSES = 60_000, 10


def deterministic_step(batch: int, hidden: list[int]) -> Callable[[], None]:
    module = mlp((28, 28), hidden, CLASSES)
    optimizer = torch.optim.Adam(module.parameters(), fused=True)
    inputs, labels = torch.rand(batch, 28, 28), torch.randint(CLASSES, (batch,))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(module(inputs), labels).backward()
        optimizer.step()

    return step


def stochastic_step(posterior: str, batch: int, hidden: list[int]) -> Callable[[], None]:
    module = mlp((28, 28), hidden, CLASSES)
    center = prior_center(module, "fan-in-uniform", 0)
    network = StochasticNetwork(module, center, posterior_named(posterior), 0.05)
    variance = PriorVariance(network, center, "layer", True, 0.0025, Tail(10_000, 0.005))
    objective = objective_named("quadratic", M, 0.025)
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    inputs, labels = torch.rand(batch, 28, 28), torch.randint(CLASSES, (batch,))
    source = TrainingNoise(derive("benchmark"))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(network(inputs, source), labels)
        kl, union = variance()
        objective(loss, kl + union).backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--hidden", type=int, nargs="*", default=[600])
    options = parser.parse_args()
    steps = {"deterministic": deterministic_step(options.batch, options.hidden)}
    for posterior in ("diag", "k-diag", "k-linear"):
        steps[posterior] = stochastic_step(posterior, options.batch, options.hidden)
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(options.rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(
        f"one step, batch {options.batch}, hidden {options.hidden}, "
        f"{torch.get_num_threads()} threads"
    )
    for name, value in medians.items():
        ratio = value / medians["deterministic"]
        print(f"{name:14s} {1000 * value:7.1f} ms  {ratio:5.2f} × deterministic")


if __name__ == "__main__":
    main()
