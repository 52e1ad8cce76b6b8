"""Where the time of a training step goes, for each recipe and posterior.

    python benchmarks/step_profile.py [--steps 5] [--posterior k-linear …] [--recipe mlp-600 …]

Shares of the processor time of the recipe's own steps on made inputs of MNIST's shape, by kind of
operation. What is not a product of matrices or a convolution passes over memory.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from pacbound.data import Dataset
from pacbound.recipes import recipe
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.loop import _Run

KINDS = {
    "matrix products": ("mm", "bmm", "addmm", "baddbmm", "matmul"),
    "convolutions": ("convolution", "conv"),
    "pooling": ("pool",),
    "random numbers": ("normal_", "uniform_", "randperm"),
    "optimiser": ("_fused_adam", "lerp"),
}


def kind_of(name: str) -> str:
    """The kind of an operation, by its name."""
    leaf = name.removeprefix("aten::")
    for kind, words in KINDS.items():
        exact = kind == "matrix products"
        if any(leaf == word if exact else word in leaf for word in words):
            return kind
    return "element by element"


def shares(name: str, posterior: str, steps: int) -> dict[str, float]:
    """The share of every kind in the recipe's steps with a posterior."""
    settings = recipe(name, {"posterior": posterior})
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (steps * settings.batch, 28, 28), dtype=np.uint8)
    labels = generator.integers(0, 10, len(images))
    run = _Run(settings, Dataset("made", images, labels, None, None, 10))
    source = TrainingNoise(derive("benchmark", 0))
    order = torch.arange(len(images)).chunk(steps)
    for group in run.optimizer.param_groups:
        group["lr"] = 1e-4
    run.network.activate(nonlinear=True)
    run._step(order[0], source)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for chosen in order:
            run._step(chosen, source)
    totals: dict[str, float] = {}
    for event in profile.key_averages():
        kind = kind_of(event.key)
        totals[kind] = totals.get(kind, 0.0) + event.self_cpu_time_total
    everything = sum(totals.values())
    return {kind: value / everything for kind, value in totals.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--recipe", nargs="+", default=["mlp-600", "lenet-5"])
    parser.add_argument("--posterior", nargs="+", default=["diag", "k-linear", "k-nonlinear"])
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name in options.recipe:
        for posterior in options.posterior:
            found = shares(name, posterior, options.steps)
            parts = sorted(found.items(), key=lambda item: -item[1])
            print(f"{name:10} {posterior:12}", ", ".join(f"{k} {v:.0%}" for k, v in parts))


if __name__ == "__main__":
    main()
