"""What a certificate's Monte Carlo allowance costs, by our sampling and by the whole-set scheme.

    python benchmarks/certification.py [--recipe mlp-600] [--posterior k-linear] [--quick]

The usual scheme draws one network at a time and counts its errors on all m examples: n networks are
n independent draws of a number in [0, 1], whose limit is the largest u with kl(mean‖u) ≤ ln(1/δ)/n.
Ours draws weights for every example, in one product for a batch, and counts each as a draw: the
same limit with n the number of examples judged. For the same allowance both need the same n, so
the ratio of costs is that of one pass with one network to one example with its own weights. Both
are measured here, in one run, interleaved.
"""

from __future__ import annotations

import argparse

import torch
from made import made_data, tiny
from measuring import medians, options_of

from pacbound.data import load
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.recipes import recipe
from pacbound.seeds import Noise, derive
from pacbound.training.networks import network_inputs
from pacbound.training.problem import build_for

CHUNK = 2000
ROUNDS = 5
QUICK_EXAMPLES, QUICK_CHUNK = 40, 16


def one_network(
    network: StochasticNetwork, plain: torch.nn.Module, inputs: torch.Tensor, chunk: int
) -> None:
    plain.load_state_dict(network.draw_weights(Noise(derive("benchmark", 0))))
    for part in inputs.split(chunk):
        plain(part).argmax(1)


def own_weights(network: StochasticNetwork, inputs: torch.Tensor) -> None:
    network(inputs, Noise(derive("benchmark", 1))).argmax(1)


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", default="mlp-600")
    parser.add_argument("--posterior", default="k-linear")
    options = options_of(parser)
    torch.set_num_threads(1)
    changes = tiny(options.recipe) if options.quick else {}
    settings = recipe(options.recipe, {"posterior": options.posterior, **changes})
    data = made_data(settings, QUICK_EXAMPLES) if options.quick else load(settings.data)
    chunk = QUICK_CHUNK if options.quick else CHUNK
    problem = build_for(settings, data)
    network, plain = problem.network, problem.plain
    inputs = network_inputs(settings, data.train_inputs)
    works = {
        "whole": lambda: one_network(network, plain, inputs, chunk),
        "own": lambda: own_weights(network, inputs[:chunk]),
    }
    times = medians(works, ROUNDS)
    a_pass, an_example = times["whole"], times["own"] / chunk
    print(f"{options.recipe}, {options.posterior}, m = {data.m}")
    print(f"one network on all examples      {a_pass * 1e3:10.1f} ms")
    print(f"one example, weights of its own  {an_example * 1e3:10.4f} ms")
    print(f"whole-set scheme ÷ ours, at the same allowance: {a_pass / an_example:.0f}")


if __name__ == "__main__":
    main()
