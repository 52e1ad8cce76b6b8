"""Where the time of a training step goes, for each recipe and posterior.

    python benchmarks/step_profile.py [--steps 5] [--posterior k-linear …] [--recipe mlp-600 …]
        [--quick]

Shares of the processor time of the recipe's own steps on made images of its data set's shape, by
kind of operation. The first step of each training is not profiled. Matrix products and convolutions
compute; all other kinds pass over memory. "Element by element" includes sums. "Overhead" is what
torch needs around operations: views, allocations and the graph of gradients.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
from pathlib import Path

import torch
from made import made_data, tiny
from measuring import options_of
from torch.profiler import ProfilerActivity, profile

from pacbound.recipes import recipe
from pacbound.training.descent import Step
from pacbound.training.loop import train

RECIPES = ["mlp-600", "lenet-5", "vi-lenet-5-cifar5", "vi-vgg-16"]
POSTERIORS = ["diag", "k-linear", "k-nonlinear"]
QUICK = [  # each recipe once; K-Nonlinear on VGG-16 has too many operations to be quick
    ("mlp-600", "k-nonlinear"),
    ("lenet-5", "k-linear"),
    ("vi-lenet-5-cifar5", "k-nonlinear"),
    ("vi-vgg-16", "diag"),
]
LEARNING_RATE = 1e-4  # a small one: labels are random, and training must not diverge

# By the words of an operation's name, which underscores separate. The first kind that knows one.
KINDS = {
    "matrix products": {
        *("mm", "bmm", "addmm", "addbmm", "baddbmm", "matmul", "linear", "einsum"),
        *("mv", "addmv", "dot", "ger", "outer"),
    },
    "convolutions": {"convolution", "conv2d", "im2col", "col2im"},
    "pooling": {"pool2d"},
    "batch normalisation": {"batch"},
    "tanh": {"tanh"},
    "random numbers": {"normal", "uniform", "random", "randperm", "bernoulli", "randn", "rand"},
    "optimiser": {"adam", "lerp"},
    "copies": {"copy", "clone", "cat", "stack", "index", "gather", "scatter", "contiguous", "to"},
    "overhead": {
        *("view", "reshape", "strided", "expand", "unsqueeze", "squeeze", "flatten", "unflatten"),
        *("t", "transpose", "permute", "movedim", "numpy", "conj", "alias"),
        *("slice", "select", "split", "unbind", "narrow", "chunk"),
        *("empty", "resize", "detach", "item", "local"),
    },
}


def kind_of(name: str) -> str:
    """The kind of an operation, by its name."""
    namespace, _, operation = name.rpartition("::")
    if not namespace or namespace.startswith(("autograd", "torch")):
        return "overhead"  # nodes of the graph and marks: the operations within have their own
    words = set(operation.split("_"))
    for kind, known in KINDS.items():
        if words & known:
            return kind
    return "element by element"


def shares(name: str, posterior: str, steps: int, quick: bool) -> dict[str, float]:
    """The share of every kind in the recipe's steps with a posterior."""
    changes = {"posterior": posterior, "epochs": 1, "warm_start_epochs": 0, "linear_epochs": 0}
    changes |= {"learning_rate": LEARNING_RATE, "flow_learning_rate": LEARNING_RATE}
    settings = recipe(name, changes | (tiny(name) if quick else {}))
    data = made_data(settings, (1 + steps) * settings.batch)
    profiler = profile(activities=[ProfilerActivity.CPU])

    def on_step(at: Step) -> None:
        if at.step == 1:
            profiler.start()
        if at.step == at.steps:
            profiler.stop()

    with tempfile.TemporaryDirectory() as folder:
        train(settings, data, Path(folder) / "made.pt", on_step=on_step)
    totals: dict[str, float] = {}
    for event in profiler.key_averages():
        kind = kind_of(event.key)
        totals[kind] = totals.get(kind, 0.0) + event.self_cpu_time_total
    everything = sum(totals.values())
    return {kind: value / everything for kind, value in totals.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--recipe", nargs="+", default=RECIPES)
    parser.add_argument("--posterior", nargs="+", default=POSTERIORS)
    parser.add_argument("--threads", type=int, default=1)
    options = options_of(parser, quick={"steps": 1})
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or the profiler logs every start and stop
    torch.set_num_threads(options.threads)
    for name, posterior in itertools.product(options.recipe, options.posterior):
        if options.quick and (name, posterior) not in QUICK:
            continue
        found = shares(name, posterior, options.steps, options.quick)
        parts = sorted(found.items(), key=lambda item: -item[1])
        line = ", ".join(f"{kind} {share:.0%}" for kind, share in parts)
        print(f"{name:18} {posterior:12} {line}", flush=True)


if __name__ == "__main__":
    main()
