"""What a prediction with many networks costs, beside as many separate forward passes.

    python benchmarks/prediction.py [--samples 20] [--examples 10000] [--rounds 3]
        [--networks mlp-600 mlp-30 lenet-5] [--posterior k-linear] [--quick]

`predict` draws whole networks and averages their probabilities. It is compared with drawing the
same networks one by one and running each on all examples, with the same in batches of 500, and
with the stochastic network's own forward pass, where dense layers have fresh weights for every
example. Drawing is part of all. One thread; the ways are interleaved, and the medians of their
CPU times compared, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from made import tiny
from measuring import Work, medians, options_of
from torch import Tensor
from torch.func import functional_call

from pacbound.data import Dataset
from pacbound.predict import Predictor
from pacbound.recipes import recipe
from pacbound.seeds import Noise, derive
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.problem import build_for

SEED = derive("benchmark")
BATCH = 500


def ways(
    name: str, posterior: str, images: np.ndarray, samples: int, quick: bool
) -> dict[str, Work]:
    settings = recipe(name, {"posterior": posterior, **(tiny(name) if quick else {})})
    labels = np.arange(len(images)) % 10
    data = Dataset("made", images, labels, None, None, 10)
    problem = build_for(settings, data)
    module = plain_network(settings, data.input_shape, data.classes)
    predictor = Predictor(settings, problem.network, module, SEED)

    def separate(batch: int) -> Tensor:
        inputs = network_inputs(settings, images)
        total = torch.zeros(len(images), data.classes)
        for number in range(samples):
            weights = problem.network.draw_weights(Noise(derive("network", SEED, number)))
            parts = [functional_call(module, weights, (part,)) for part in inputs.split(batch)]
            total += torch.cat(parts).softmax(1)
        return total / samples

    def forward() -> Tensor:
        inputs, source = network_inputs(settings, images), Noise(SEED)
        total = torch.zeros(len(images), data.classes)
        for _ in range(samples):
            total += problem.network(inputs, source).softmax(1)
        return total / samples

    return {
        "predict": lambda: predictor.predict(images, samples),
        "separate passes": lambda: separate(len(images)),
        f"separate, batches of {BATCH}": lambda: separate(BATCH),
        "network's own forward": forward,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--networks", nargs="+", default=["mlp-600", "mlp-30", "lenet-5"])
    parser.add_argument("--posterior", default="k-linear")
    options = options_of(parser, quick={"samples": 2, "examples": BATCH + 1, "rounds": 1})
    torch.set_num_threads(1)
    images = np.random.default_rng(0).random((options.examples, 28, 28), dtype=np.float32)
    for name in options.networks:
        chosen = ways(name, options.posterior, images, options.samples, options.quick)
        with torch.inference_mode():
            times = medians(chosen, options.rounds)
        print(f"{name}, {options.posterior}: {options.samples} networks, {options.examples} images")
        for way, value in times.items():
            ratio = times["predict"] / value
            print(f"  {way:26s} {value:7.2f} s   predict takes {ratio:5.2f} of it", flush=True)


if __name__ == "__main__":
    main()
