"""What a posterior can gain by learning from the counted images: errors against nats.

    python benchmarks/learning_from_counted.py [--spreads 0.125] [--epochs 3] [--quick]

A residual network learns from half of the 40 000 CIFAR-10 images that the prior's part of the
recipe `cifar-10-resnet-learned` has, so no image that a certificate counts is looked at. Then it
learns from the other half, and pays for the distance: ‖w − w0‖²/2λ nats, with a deviation √λ that
is a given share of a layer's root mean square. The errors are those without noise. So the bounds
are smaller than those of a posterior: where they are not below that at 0 nats, there is nothing to
gain. Each row took 6 to 8 minutes on two cores that four processes shared.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from measuring import options_of
from torch import Tensor, nn
from torch.nn import functional

from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.data import Dataset
from pacbound.data.loading import load
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.networks.values import take_values
from pacbound.posteriors import posterior_named
from pacbound.priors.split import split_of
from pacbound.products import products_in
from pacbound.recipes import Settings, recipe
from pacbound.training.learned_prior import learn_prior
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.spread import errors_of

DELTA = 0.025
BATCH = 500
RECIPE = "cifar-10-resnet-learned"
# What may move, at which learning rate, and how many times its price a nat costs in training.
WAYS = (("head", 1e-3, 1.0), ("", 1e-4, 10.0), ("", 1e-4, 1.0), ("", 1e-4, 0.2))


@dataclass
class Moving:
    """A network that moves from a prior's centre, and the images that it learns from."""

    network: nn.Module
    centre: dict[str, Tensor]
    inputs: Tensor
    labels: Tensor
    products: str
    drawn: frozenset[str]  # the parameters that a posterior has; the others are constants

    @property
    def m(self) -> int:
        return len(self.labels)

    def bound(self, risk: float, nats: float) -> float:
        complexity = (nats + math.log(2 * math.sqrt(self.m) / DELTA)) / self.m
        return bernoulli_kl_inverse(risk, complexity)

    def move(self, prefix: str, spread: float, rate: float, price: float, epochs: int) -> float:
        """Minimise the cross-entropy plus the priced nats; return the nats in the end."""
        take_values(self.network, self.centre)
        moved = {
            name: parameter
            for name, parameter in self.network.named_parameters()
            if name in self.drawn and name.startswith(prefix)
        }
        for name, parameter in self.network.named_parameters():
            parameter.requires_grad_(name in moved)
        variances = {name: spread**2 * self.centre[name].square().mean().item() for name in moved}

        def nats() -> Tensor:
            each = [
                (value - self.centre[name]).square().sum() / (2 * variances[name])
                for name, value in moved.items()
            ]
            return torch.stack(each).sum()

        optimizer = torch.optim.Adam(moved.values())
        generator = torch.Generator().manual_seed(0)
        steps = epochs * math.ceil(self.m / BATCH)
        done = 0
        for _ in range(epochs):
            for rows in torch.randperm(self.m, generator=generator).split(BATCH):
                optimizer.param_groups[0]["lr"] = rate * (1 - done / steps)
                optimizer.zero_grad()
                with products_in(self.products, self.inputs.device):
                    logits = self.network(self.inputs[rows]).float()
                loss = functional.cross_entropy(logits, self.labels[rows])
                (loss + price * nats() / self.m).backward()
                optimizer.step()
                done += 1
        return float(nats().detach())

    def risk(self) -> float:
        values = {name: p.detach() for name, p in self.network.named_parameters()}
        examples = self.inputs, self.labels
        return errors_of(self.network, {**self.centre, **values}, examples) / self.m


def settings_and_data(quick: bool) -> tuple[Settings, Dataset]:
    """The prior's part of the recipe's data as a data set of its own, to be split in halves."""
    settings = recipe(RECIPE, {"hidden": [32, 96, 128], "prior_epochs": 8, "prior_smoothing": 0.0})
    if quick:
        generator = np.random.default_rng(0)
        images = generator.integers(0, 256, (120, 3, 16, 16), np.uint8)
        labels = np.arange(120) % 10
        data = Dataset("made", images, labels, None, None, 10)
        small = replace(settings, hidden=(4, 4, 4), prior_epochs=1, prior_batch=30)
        return replace(small, prior_fraction=0.5), data
    whole = load("cifar-10")
    part = split_of(settings, whole).learned_data(whole)
    return replace(settings, prior_fraction=0.5), part


def drawn_parameters(
    settings: Settings, data: Dataset, centre: dict[str, Tensor]
) -> frozenset[str]:
    """The parameters that the network's posterior draws."""
    plain = plain_network(settings, data.input_shape, data.classes)
    network = StochasticNetwork(plain, centre, posterior_named("diag"), (1.0,), settings.blocks)
    layers = {name for name, _, _ in network.posteriors(centre)}
    return frozenset(
        name for name in centre if any(name.startswith(f"{layer}.") for layer in layers)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spreads", type=float, nargs="+", default=[0.125])
    parser.add_argument("--epochs", type=int, default=3)
    options = options_of(parser, quick={"epochs": 1})
    torch.set_num_threads(1)
    settings, data = settings_and_data(options.quick)
    split = split_of(settings, data)
    counted = split.counted_data(data)
    prior = learn_prior(settings, split.learned_data(data))
    moving = Moving(
        plain_network(settings, data.input_shape, data.classes).eval(),
        prior.center,
        network_inputs(settings, counted.train_inputs),
        torch.from_numpy(counted.train_labels),
        settings.prior_products,
        drawn_parameters(settings, data, prior.center),
    )
    take_values(moving.network, moving.centre)
    risk = moving.risk()
    still = moving.bound(risk, 0.0)
    print(f"the prior's centre: errors {risk:.4f}, bound at 0 nats {still:.4f}", flush=True)
    for spread in options.spreads:
        for prefix, rate, price in WAYS:
            nats = moving.move(prefix, spread, rate, price, options.epochs)
            risk = moving.risk()
            bound = moving.bound(risk, nats)
            print(
                f"spread {spread}, {prefix or 'all layers'}, a nat at {price} of its price: errors "
                f"{risk:.4f}, {nats:.1f} nats, bound {bound:.4f}, {bound / still:.3f} times that "
                "at 0 nats",
                flush=True,
            )


if __name__ == "__main__":
    main()
