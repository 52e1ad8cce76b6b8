"""How costs grow: with width, depth, examples and draws.

    python benchmarks/growth.py [--posterior k-linear] [--rounds 5] [--quick]

Processor time, with one thread, of a training step (batch 500) and of certifying a chunk of 2000
examples, for networks of growing width and depth; of a pass over growing numbers of examples; and
of growing numbers of draws. Each size is measured in turn, several times over, and medians are
taken, so that whatever else the machine does falls on all alike. The slope is that of a
straight line through the logarithms: 1 is proportional, 2 quadratic. (Workers: `workers.py`.)
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from made import made_batch, stochastic_mlp, training_step
from measuring import Work, medians, options_of

from pacbound.posteriors import Family, posterior_named
from pacbound.predictors.risk import Loss, losses_per_example
from pacbound.seeds import derive

SEED = derive("growth")


@dataclass(frozen=True)
class Sizes:
    """What grows, and what stays as it is meanwhile."""

    widths: tuple[int, ...] = (150, 300, 600, 1200)
    depths: tuple[int, ...] = (1, 2, 3, 4)
    deep_width: int = 300
    examples: tuple[int, ...] = (4000, 8000, 16_000, 32_000)
    passes: tuple[int, ...] = (1, 2, 4, 8)
    batch: int = 500  # of a training step
    chunk: int = 2000  # examples that are certified while width or depth grows


QUICK = Sizes((4, 8), (1, 2), 4, (8, 16), (1, 2), 8, 8)


def certifying(hidden: Sequence[int], family: Family, examples: int, passes: int) -> Work:
    network, _ = stochastic_mlp(hidden, family)
    data = made_batch(examples)
    everyone = [Loss(np.arange(len(data[1])))]
    return lambda: losses_per_example(network, data, everyone, passes, SEED)


def slope(times: Mapping[int, float]) -> float:
    return float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posterior", default="k-linear")
    parser.add_argument("--rounds", type=int, default=5)
    options = options_of(parser, quick={"rounds": 1})
    torch.set_num_threads(1)
    sizes = QUICK if options.quick else Sizes()
    family = posterior_named(options.posterior)
    batch, few = made_batch(sizes.batch), sizes.examples[0]
    wide = {width: [width] for width in sizes.widths}
    deep = {depth: [sizes.deep_width] * depth for depth in sizes.depths}
    one = [sizes.deep_width]
    curves: dict[str, dict[int, Work]] = {
        "a training step, by width": {n: training_step(wide[n], family, batch) for n in wide},
        "a training step, by depth": {n: training_step(deep[n], family, batch) for n in deep},
        "certifying a chunk, by width": {
            n: certifying(wide[n], family, sizes.chunk, 1) for n in wide
        },
        "certifying a chunk, by depth": {
            n: certifying(deep[n], family, sizes.chunk, 1) for n in deep
        },
        "certifying a pass, by examples": {
            m: certifying(one, family, m, 1) for m in sizes.examples
        },
        f"certifying, by passes over {few} examples": {
            n: certifying(one, family, few, n) for n in sizes.passes
        },
    }
    for name, works in curves.items():
        times = medians(works, options.rounds)
        line = ", ".join(f"{size}: {seconds * 1e3:.1f} ms" for size, seconds in times.items())
        print(f"{name}: {line}; slope {slope(times):.2f}", flush=True)


if __name__ == "__main__":
    main()
