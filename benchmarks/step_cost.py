"""What one training step of each posterior costs.

    python benchmarks/step_cost.py [--batch 1000] [--rounds 20] [--hidden 600]
        [--dtype bfloat16] [--quick]

As multiples of a step of the same deterministic network, and, for posteriors whose weights are
drawn once for the whole batch, as multiples of K-Linear treated in that way. The steps are
interleaved and their medians compared, so that whatever else the machine does falls on all alike.
Times are of the processor, with one thread.
"""

from __future__ import annotations

import argparse

import torch
from made import CLASSES, Batch, made_batch, training_step
from measuring import Work, medians, options_of
from torch.nn import functional

from pacbound.memory import keeping_memory
from pacbound.networks.mlp import mlp
from pacbound.posteriors import Family, KLinear, posterior_named
from pacbound.products import products_in

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


def deterministic_step(hidden: list[int], batch: Batch, products: str) -> Work:
    """A step of the network without noise."""
    inputs, labels = batch
    module = mlp((28, 28), hidden, CLASSES)
    optimizer = torch.optim.Adam(module.parameters(), fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with products_in(products, inputs.device):
            logits = module(inputs)
        functional.cross_entropy(logits.float(), labels).backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--hidden", type=int, nargs="*", default=[600])
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    options = options_of(parser, quick={"batch": 8, "rounds": 1, "hidden": [4]})
    torch.set_num_threads(1)
    batch, dtype = made_batch(options.batch), options.dtype
    steps = {"deterministic": deterministic_step(options.hidden, batch, dtype)}
    for name, family in FAMILIES.items():
        steps[name] = training_step(options.hidden, family, batch, dtype)
    with keeping_memory():
        times = medians(steps, options.rounds)
    print(f"one step, batch {options.batch}, hidden {options.hidden}, products in {dtype}")
    for name, value in times.items():
        line = f"{name:22s} {1000 * value:7.1f} ms"
        line += f"  {value / times['deterministic']:5.2f} × deterministic"
        if "," in name:
            line += f"  {value / times['k-linear, sampled']:5.2f} × k-linear, sampled"
        print(line)


if __name__ == "__main__":
    main()
