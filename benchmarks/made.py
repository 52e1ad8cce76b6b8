"""What the benchmarks are run on: made data, tiny recipes, and a training step.

This file is not a benchmark: it has no `main`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from measuring import Work
from torch import Tensor
from torch.nn import functional

from pacbound.data import Dataset
from pacbound.data.catalogue import find
from pacbound.networks.initializers import prior_center
from pacbound.networks.mlp import mlp
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import Family
from pacbound.products import products_in
from pacbound.recipes import Settings, recipe
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.objectives import objective_named
from pacbound.training.prior_variance import PriorVariance, Tail

__all__ = [
    "CLASSES",
    "Batch",
    "made_batch",
    "made_data",
    "stochastic_mlp",
    "tiny",
    "training_step",
]

CLASSES = 10
M = 60_000  # examples that the objective of a training step counts

Batch = tuple[Tensor, Tensor]  # inputs (n, 28, 28), labels (n,)


def tiny(name: str) -> dict[str, Any]:
    """Overrides that make a recipe's network and batches small, and leave its layers as many."""
    hidden = [4] * len(recipe(name).hidden)
    return {"hidden": hidden, "flow_hidden": [4], "batch": 8, "weight_draws": 2}


def made_data(settings: Settings, count: int) -> Dataset:
    """Random images of the shape that the recipe's data set has, with as many classes."""
    colour = settings.data.startswith("cifar")
    shape = (3, 32, 32) if colour else (28, 28)
    classes = find(settings.data).classes
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (count, *shape), dtype=np.uint8)
    return Dataset("made", images, generator.integers(0, classes, count), None, None, classes)


def made_batch(count: int) -> Batch:
    """Random inputs of the shape of MNIST, as networks see them, and their labels."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.rand(count, 28, 28, generator=generator)
    return inputs, torch.randint(CLASSES, (count,), generator=generator)


def stochastic_mlp(
    hidden: Sequence[int], family: Family
) -> tuple[StochasticNetwork, dict[str, Tensor]]:
    """An MLP with weights of a posterior family, and the centre of its prior."""
    module = mlp((28, 28), list(hidden), CLASSES)
    center = prior_center(module, "fan-in-uniform", 0)
    return StochasticNetwork(module, center, family, [0.05]), center


def training_step(
    hidden: Sequence[int], family: Family, batch: Batch, products: str = "float32"
) -> Work:
    """A step that minimises the quadratic bound of such an MLP on one batch."""
    network, center = stochastic_mlp(hidden, family)
    variance = PriorVariance(network, center, "layer", "profiled", Tail(10_000, 0.005))
    objective = objective_named("quadratic", M, 0.025)
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    source = TrainingNoise(derive("benchmark"))
    inputs, labels = batch

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with products_in(products, inputs.device):
            logits = network(inputs, source)
        loss = functional.cross_entropy(logits.float(), labels)
        kl, union = variance()
        objective(loss, kl + union).backward()
        optimizer.step()

    return step
