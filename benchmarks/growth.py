"""How costs grow: with width, depth, examples and draws.

    python benchmarks/growth.py [--posterior k-linear] [--rounds 5]

Processor time, with one thread, of a training step (batch 500) and of certifying a chunk of 2000
examples, for networks of growing width and depth; of a pass over growing numbers of examples; and
of growing numbers of draws. Each size is measured in turn, several times over, and medians are
taken, so that whatever else the machine does falls on all alike. The slope is that of a
straight line through the logarithms: 1 is proportional, 2 quadratic. (Workers: `workers.py`.)
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch.nn import functional

from pacbound.certify.risk import errors_per_example
from pacbound.networks.initializers import prior_center
from pacbound.networks.mlp import mlp
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import posterior_named
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.objectives import objective_named
from pacbound.training.prior_variance import PriorVariance, Tail

WIDTHS = (150, 300, 600, 1200)
DEPTHS = (1, 2, 3, 4)
DEEP_WIDTH = 300
EXAMPLES = (4000, 8000, 16_000, 32_000)
PASSES = (1, 2, 4, 8)
BATCH, CHUNK = 500, 2000
SEED = derive("growth")

Work = Callable[[], object]


def inputs_of(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.rand(count, 28, 28, generator=generator)
    return inputs, torch.randint(10, (count,), generator=generator)


def network_of(hidden: Sequence[int], posterior: str) -> tuple[StochasticNetwork, dict]:
    module = mlp((28, 28), list(hidden), 10)
    center = prior_center(module, "fan-in-uniform", 0)
    return StochasticNetwork(module, center, posterior_named(posterior), [0.05]), center


def training_step(hidden: Sequence[int], posterior: str) -> Work:
    network, center = network_of(hidden, posterior)
    variance = PriorVariance(network, center, "layer", "profiled", [0.05], Tail(10_000, 0.005))
    objective = objective_named("quadratic", 60_000, 0.025)
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    source = TrainingNoise(SEED)
    inputs, labels = inputs_of(BATCH)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(network(inputs, source), labels)
        kl, union = variance()
        objective(loss, kl + union).backward()
        optimizer.step()

    return step


def certifying(hidden: Sequence[int], posterior: str, examples: int, passes: int) -> Work:
    network, _ = network_of(hidden, posterior)
    data = inputs_of(examples)
    return lambda: errors_per_example(network, data, passes, SEED)


def measured(works: Mapping[int, Work], rounds: int) -> dict[int, float]:
    """Seconds by size."""
    times: dict[int, list[float]] = {size: [] for size in works}
    for i in range(rounds + 1):
        for size, work in works.items():
            start = time.process_time()
            work()
            if i:  # the first time pays for getting ready
                times[size].append(time.process_time() - start)
    return {size: statistics.median(found) for size, found in times.items()}


def slope(times: Mapping[int, float]) -> float:
    return float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posterior", default="k-linear")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    posterior = options.posterior
    curves: dict[str, dict[int, Work]] = {
        "a training step, by width": {w: training_step([w], posterior) for w in WIDTHS},
        "a training step, by depth": {
            n: training_step([DEEP_WIDTH] * n, posterior) for n in DEPTHS
        },
        "certifying a chunk, by width": {w: certifying([w], posterior, CHUNK, 1) for w in WIDTHS},
        "certifying a chunk, by depth": {
            n: certifying([DEEP_WIDTH] * n, posterior, CHUNK, 1) for n in DEPTHS
        },
        "certifying a pass, by examples": {
            m: certifying([DEEP_WIDTH], posterior, m, 1) for m in EXAMPLES
        },
        "certifying, by passes over 4000 examples": {
            n: certifying([DEEP_WIDTH], posterior, EXAMPLES[0], n) for n in PASSES
        },
    }
    for name, works in curves.items():
        times = measured(works, options.rounds)
        line = ", ".join(f"{size}: {seconds * 1e3:.1f} ms" for size, seconds in times.items())
        print(f"{name}: {line}; slope {slope(times):.2f}", flush=True)


if __name__ == "__main__":
    main()
