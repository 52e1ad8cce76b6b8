"""How near fBNN comes to the exact posterior of its Gaussian process, by estimator of the score.

    python benchmarks/functional_posterior.py [--trainings 10] [--quick]

Forty observations of a sine, one context column. For each estimator: the largest error of the mean
on a grid in units of the noise, and the ratio of deviations, network to Gaussian process: its
geometric mean, the least and the greatest; and the milliseconds of a step.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from measuring import options_of

from pacbound.experiments.bandit.functional import FunctionalNetwork, kernel
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.scores import SCORES
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.seeds import derive

NOISE, COUNT, DRAWS = 0.3, 40, 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trainings", type=int, default=10)
    options = options_of(parser, quick={"trainings": 1})
    torch.set_num_threads(1)
    generator = np.random.default_rng(3)
    halves = generator.uniform(-1.5, -0.3, COUNT // 2), generator.uniform(0.5, 1.5, COUNT // 2)
    contexts = np.concatenate(halves).astype(np.float32)[:, None]
    rewards = np.sin(2 * contexts[:, 0]) + NOISE * generator.standard_normal(COUNT)
    grid = np.linspace(-1.5, 1.5, 13).astype(np.float32)[:, None]
    length = np.sqrt(2 * contexts.var())
    own = kernel(contexts, contexts, length, 1.0) + NOISE**2 * np.eye(COUNT)
    cross = kernel(grid, contexts, length, 1.0)
    mean = cross @ np.linalg.solve(own, rewards)
    covariance = kernel(grid, grid, length, 1.0) - cross @ np.linalg.solve(own, cross.T)
    deviation = np.sqrt(np.diag(covariance))
    for score in SCORES:
        settings = AgentSettings(
            noise=NOISE, learning_rate=0.01, decay=0.02, minibatches=500, batch=64, score=score
        )
        network = FunctionalNetwork(1, 1, settings, derive("process"))
        memory = Memory(1, settings)
        memory.add(contexts, np.zeros(COUNT, np.int64), rewards.astype(np.float32))
        begun = time.process_time()
        for _ in range(options.trainings):
            network.train(memory)
        step = 1000 * (time.process_time() - begun) / (options.trainings * settings.minibatches)
        inputs = memory.as_inputs(np.repeat(grid, DRAWS, axis=0))
        drawn = network.predict(inputs).reshape(len(grid), DRAWS)
        error = float(np.abs(drawn.mean(1) - mean).max()) / NOISE
        ratio = drawn.std(1) / deviation
        print(
            f"{score:9s} mean off by at most {error:.2f} of the noise, deviations "
            f"{np.exp(np.log(ratio).mean()):.2f} of the exact ones ({ratio.min():.2f} to "
            f"{ratio.max():.2f}), {step:.2f} ms a step"
        )


if __name__ == "__main__":
    main()
