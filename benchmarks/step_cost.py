"""What one training step of each posterior costs.

    python benchmarks/step_cost.py [--batch 1000] [--rounds 20] [--hidden 600]

As multiples of a step of the same deterministic network, and, for posteriors whose weights are
drawn once for the whole batch, as multiples of K-Linear treated in that way. The steps are
interleaved and their medians compared, so that whatever else the machine does falls on all alike.
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
from pacbound.posteriors import Family, KLinear, posterior_named
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.objectives import objective_named
from pacbound.training.prior_variance import PriorVariance, Tail

M, CLASSES = 60_000, 10
FLOW = {"hidden": [128], "steps": 1, "seed": "0"}


class SampledKLinear(KLinear):
    """K-Linear without local reparameterisation, and with the tail of a sampled KL."""

    @property
    def is_gaussian(self) -> bool:
        return False


FAMILIES: dict[str, Family] = {
    "diag": posterior_named("diag"),
    "k-diag": posterior_named("k-diag"),
    "k-linear": posterior_named("k-linear"),
    "k-linear, sampled": SampledKLinear,
    "k-nonlinear, iaf": posterior_named("k-nonlinear", kind="iaf", **FLOW),
    "k-nonlinear, realnvp": posterior_named("k-nonlinear", kind="realnvp", **FLOW),
}


def deterministic_step(inputs: torch.Tensor, labels: torch.Tensor, hidden: list[int]) -> Callable:
    module = mlp((28, 28), hidden, CLASSES)
    optimizer = torch.optim.Adam(module.parameters(), fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(module(inputs), labels).backward()
        optimizer.step()

    return step


def stochastic_step(
    family: Family, inputs: torch.Tensor, labels: torch.Tensor, hidden: list[int]
) -> Callable:
    module = mlp((28, 28), hidden, CLASSES)
    center = prior_center(module, "fan-in-uniform", 0)
    network = StochasticNetwork(module, center, family, [0.05])
    variance = PriorVariance(network, center, "layer", "profiled", [0.05], Tail(10_000, 0.005))
    objective = objective_named("quadratic", M, 0.025)
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
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
    parser.add_argument("--hidden", type=int, nargs="*", default=[600])
    options = parser.parse_args()
    batch = torch.rand(options.batch, 28, 28), torch.randint(CLASSES, (options.batch,))
    steps = {"deterministic": deterministic_step(*batch, options.hidden)}
    for name, family in FAMILIES.items():
        steps[name] = stochastic_step(family, *batch, options.hidden)
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(options.rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    threads = torch.get_num_threads()
    print(f"one step, batch {options.batch}, hidden {options.hidden}, {threads} threads")
    for name, value in medians.items():
        line = f"{name:22s} {1000 * value:7.1f} ms"
        line += f"  {value / medians['deterministic']:5.2f} × deterministic"
        if "," in name:
            line += f"  {value / medians['k-linear, sampled']:5.2f} × k-linear, sampled"
        print(line)


if __name__ == "__main__":
    main()
