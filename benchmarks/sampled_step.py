"""One training step of K-Nonlinear ÷ one of K-Linear with sampled weights, same batch.

    python benchmarks/sampled_step.py [--batch 1000] [--rounds 20]

Both draw one W for the whole batch and have the tail of a sampled KL in their objective.
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
from pacbound.posteriors import KLinear, posterior_named
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.objectives import objective_named
from pacbound.training.prior_variance import PriorVariance, Tail

M, CLASSES = 60_000, 10


class SampledKLinear(KLinear):
    """K-Linear as it would be without local reparameterisation."""

    @property
    def is_gaussian(self) -> bool:
        return False


def step_of(posterior: str, batch: int, flow: str) -> Callable[[], None]:
    module = mlp((28, 28), [600], CLASSES)
    center = prior_center(module, "fan-in-uniform", 0)
    family = (
        SampledKLinear
        if posterior == "k-linear"
        else posterior_named(posterior, kind=flow, hidden=[128], steps=1, seed="0")
    )
    network = StochasticNetwork(module, center, family, 0.1)
    variance = PriorVariance(network, center, "layer", True, 0.01, Tail(10_000, 0.005))
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
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    steps = {
        "k-linear, sampled": step_of("k-linear", options.batch, "iaf"),
        "k-nonlinear, iaf": step_of("k-nonlinear", options.batch, "iaf"),
        "k-nonlinear, realnvp": step_of("k-nonlinear", options.batch, "realnvp"),
    }
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(options.rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"one step, batch {options.batch}, {torch.get_num_threads()} threads")
    for name, value in medians.items():
        ratio = value / medians["k-linear, sampled"]
        print(f"{name:22s} {1000 * value:7.1f} ms  {ratio:5.2f} × k-linear, sampled")


if __name__ == "__main__":
    main()
