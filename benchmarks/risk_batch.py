"""What the batch of each draw of the weights costs, and what it does to the limit of the risk.

    python benchmarks/risk_batch.py [--recipe lenet-5] [--risk 0.02] [--large 500] [--quick]

Where examples share weights, each draw of the weights is judged on a batch of its own. The
betting limit is near mean + ln(1/δ)/n + variance/2 for n draws. The batch has no part in the
second term, so a small batch costs less for nearly the same limit. The time of a draw with the
batch in use and with a large one is measured in one run, interleaved. The limits are those of
10 000 draws whose errors are binomial.
"""

from __future__ import annotations

import argparse

import torch
from made import made_data, tiny
from measuring import medians, options_of
from scipy.stats import binom

from pacbound.bounds.betting import risk_limit
from pacbound.data import load
from pacbound.predictors.risk import BATCH, Loss, losses_per_weights
from pacbound.recipes import recipe
from pacbound.training.networks import network_inputs
from pacbound.training.problem import build_for

ROUNDS, QUICK_EXAMPLES = 5, 40
DRAWS = 20  # of the weights, in one measurement
CERTIFIED, DELTA = 10_000, 0.01


def limit(risk: float, batch: int) -> float:
    """The limit of as many draws as `certify` makes, with the histogram that is expected."""
    times = [round(CERTIFIED * binom.pmf(errors, batch, risk)) for errors in range(batch + 1)]
    return risk_limit(tuple((k, t) for k, t in enumerate(times) if t), batch, DELTA)


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", default="lenet-5")
    parser.add_argument("--risk", type=float, default=0.02)
    parser.add_argument("--large", type=int, default=500)
    options = options_of(parser)
    torch.set_num_threads(1)
    settings = recipe(options.recipe, tiny(options.recipe) if options.quick else {})
    data = made_data(settings, QUICK_EXAMPLES) if options.quick else load(settings.data)
    network = build_for(settings, data).network
    train = network_inputs(settings, data.train_inputs), torch.from_numpy(data.train_labels)
    losses = [Loss(torch.arange(data.m).numpy())]

    def judged(batch: int) -> None:
        losses_per_weights(network, train, None, losses, DRAWS, batch, "benchmark")

    sizes = (options.large, BATCH)
    times = medians({batch: lambda batch=batch: judged(batch) for batch in sizes}, ROUNDS)
    print(f"{options.recipe}, {CERTIFIED} draws of the weights, risk {options.risk:.2%}")
    for batch in sizes:
        figures = (
            f"{times[batch] / DRAWS * 1e3:8.1f} ms a draw, limit {limit(options.risk, batch):.4%}"
        )
        print(f"batches of {batch:4d}  {figures}")
    print(f"time with {sizes[0]} ÷ time with {sizes[1]}: {times[sizes[0]] / times[sizes[1]]:.2f}")


if __name__ == "__main__":
    main()
