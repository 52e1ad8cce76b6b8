"""How the level of regret in jester depends on the jokes that a seed draws.

    python benchmarks/jester_levels.py [--seeds 100] [--reported 10] [--quick]

For every seed: linear regressions of all eight ratings on the context, fitted to all users at once,
and the regret of the joke with the highest prediction, in per cent of the uniform policy's. No
agent sees as much. The mean and deviation over all seeds, the mean over the reported ones, and how
often as many seeds drawn at random have a mean as high.
"""

from __future__ import annotations

import argparse

import numpy as np
from measuring import options_of

from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems import load_problem

DRAWS = 100_000


def in_hindsight(problem: Problem) -> float:
    """The regret of the regressions, in per cent of the uniform policy's."""
    contexts, rewards = problem.contexts, problem.rewards.astype(np.float64)
    inputs = np.hstack([contexts, np.ones((len(contexts), 1))]).astype(np.float64)
    fitted = inputs @ np.linalg.lstsq(inputs, rewards, rcond=None)[0]
    chosen = rewards[np.arange(len(rewards)), fitted.argmax(1)]
    return float(problem.normalized((problem.optimal - chosen).sum()))


def made(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    ratings = generator.standard_normal((200, 5)) + generator.standard_normal((200, 1))
    rewards = ratings[:, 2:].astype(np.float32)
    return Problem("made", ratings[:, :2].astype(np.float32), rewards, rewards.max(1).astype(float))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--reported", type=int, default=10)
    options = options_of(parser, quick={"seeds": 4, "reported": 2})
    problem_of = made if options.quick else lambda seed: load_problem("jester", seed)
    levels = np.array([in_hindsight(problem_of(seed)) for seed in range(options.seeds)])
    reported = levels[: options.reported].mean()
    some = np.random.default_rng(0).choice(levels, (DRAWS, options.reported)).mean(1)
    print(
        f"{options.seeds} seeds: {levels.mean():.1f}, deviation {levels.std(ddof=1):.1f}; the "
        f"first {options.reported}: {reported:.1f}, as high in {(some >= reported).mean():.1%} of "
        "samples"
    )


if __name__ == "__main__":
    main()
