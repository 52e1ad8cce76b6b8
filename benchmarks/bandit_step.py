"""What one optimiser step of a bandit's network costs.

    python benchmarks/bandit_step.py [--batch 512] [--rounds 30] [--posterior diag …]
        [--problem mushroom …] [--quick]

In closed form, and by automatic differentiation of the same stochastic network with torch's
Adam: milliseconds, and their ratio. Both draw their minibatch from the same memory. Runs of a few
steps, as there are in training, are interleaved and their medians compared, so that whatever else
the machine does falls on all alike; time is the processor's, because on a busy machine a long run
waits more often than a short one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from measuring import medians, options_of

from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.network import RewardNetwork
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.seeds import derive

PROBLEMS = {"mushroom": (117, 2), "statlog": (9, 7), "covertype": (54, 7), "adult": (94, 14)}
POSTERIORS = ["point", "diag", "k-diag", "k-linear", "k-nonlinear"]
OBSERVATIONS = 20_000
RUN = 10  # steps


def memory_of(size: int, arms: int) -> Memory:
    generator = np.random.default_rng(0)
    memory = Memory(size, AgentSettings())
    memory.add(
        generator.standard_normal((OBSERVATIONS, size)).astype(np.float32),
        generator.integers(arms, size=OBSERVATIONS),
        generator.standard_normal(OBSERVATIONS).astype(np.float32),
    )
    return memory


def closed_form(network: RewardNetwork, memory: Memory) -> Callable[[], None]:
    network.settings = replace(network.settings, minibatches=RUN)
    return lambda: network.train(memory)


def eager(network: RewardNetwork, memory: Memory) -> Callable[[], None]:
    """The steps as one writes them in torch."""
    settings, module = network.settings, network.network
    posteriors = [next(iter(layer.posteriors.values())) for layer in module.layers.values()]
    optimizer = torch.optim.Adam(module.parameters(), lr=settings.learning_rate)
    contexts = torch.from_numpy(memory.inputs[:, :-1].copy())
    arms, rewards = torch.from_numpy(memory.arms), torch.from_numpy(memory.rewards)
    variance = torch.tensor(settings.prior_variance[0])
    centers = [torch.zeros_like(q.mean) for q in posteriors]

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        rows = network.stream.choice(memory.count, settings.batch)
        outputs = module(contexts[rows], network.stream, draws=settings.weight_draws)
        pulled = outputs.gather(1, arms[rows][:, None])[:, 0]
        error = (pulled - rewards[rows]).square().mean() / (2 * settings.noise**2)
        kl = sum(
            gaussian_kl(q.second_moment(center), q.log_det(), q.mean.numel(), variance)
            for q, center in zip(posteriors, centers, strict=True)
        )
        (error + settings.beta / memory.count * kl).backward()
        optimizer.step()

    def run() -> None:
        for _ in range(RUN):
            step()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--posterior", nargs="*", choices=POSTERIORS, default=POSTERIORS)
    parser.add_argument("--problem", nargs="*", choices=PROBLEMS, default=list(PROBLEMS))
    options = options_of(parser, quick={"batch": 8, "rounds": 1, "problem": ["statlog"]})
    torch.set_num_threads(1)
    settings = AgentSettings(batch=options.batch)
    print(f"one step, batch {options.batch}, {settings.hidden} hidden units, one thread of torch")
    for problem in options.problem:
        size, arms = PROBLEMS[problem]
        memory = memory_of(size, arms)
        for posterior in options.posterior:
            ours, theirs = (
                RewardNetwork(size, arms, posterior, settings, derive("benchmark", i))
                for i in range(2)
            )
            runs = {"closed": closed_form(ours, memory), "eager": eager(theirs, memory)}
            times = medians(runs, options.rounds)
            closed, automatic = (1000 * times[name] / RUN for name in runs)
            print(
                f"{problem:10s} {size:3d} × {arms:2d}  {posterior:12s} {closed:6.3f} ms, "
                f"eager {automatic:6.3f} ms, ratio {closed / automatic:4.2f}"
            )


if __name__ == "__main__":
    main()
