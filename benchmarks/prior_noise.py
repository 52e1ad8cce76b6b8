"""What the noise of a learned prior costs a drawn network, on made samples of KEEL's table `ring`.

    python benchmarks/prior_noise.py [--seeds 2 3 4] [--rows 7400] [--quick]

Two overlapping Gaussians in 20 dimensions, scaled, split and certified as KEEL's tables are, with
the network of two hidden layers of 100 units. Two priors are compared: variances fitted on the
prior's part alone, and limited by a validation part too. Looks at made samples cost nothing. About
13 seconds of a core for each seed.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

import numpy as np
import torch
from measuring import options_of

from pacbound.api import StochasticModule
from pacbound.data import Dataset
from pacbound.experiments.keel.cell import DELTA, SCALED_BY, plain_limit
from pacbound.experiments.keel.choosing import CANDIDATES, choose
from pacbound.priors.scaling import Scaling, set_aside

LARGE = CANDIDATES[3]  # two hidden layers of 100 units, 50 epochs


def ring(seed: int, rows: int) -> Dataset:
    """N(0, 4I) and N(a, I) with ‖a‖ = 2; a tenth of the rows scales the columns."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, rows)
    noise = generator.normal(size=(rows, 20))
    inputs = np.where(labels[:, None] == 0, 2 * noise, noise + 2 / math.sqrt(20)).round(4)
    aside, rest = set_aside(inputs, labels, SCALED_BY)
    scaling = Scaling.of(inputs[aside], 20)
    return Dataset("made ring", scaling(inputs[rest]), labels[rest], None, None, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--rows", type=int, default=7400)
    options = options_of(parser, quick={"seeds": [2], "rows": 300})
    torch.set_num_threads(1)
    for seed in options.seeds:
        data = ring(seed, options.rows)
        chosen = choose(data, 1, lambda done, total: None, [LARGE]).settings
        for words, most in (("fitted", 1.0), ("limited", chosen.prior_spread)):
            net = StochasticModule(replace(chosen, prior_spread=most))
            net.fit(data, progress=False)
            centre = net.certify(data, DELTA, predictor="fixed").claims[0]
            drawn = net.certify(data, DELTA, predictor="draw")
            errors = centre.errors or 0
            ratio = float(drawn.risk_bound) / plain_limit(errors, centre.m, DELTA)
            print(
                f"seed {seed}, {words}: {errors} errors of the centre in {centre.m}, "
                f"{drawn.claims[0].errors} of the drawn network at {drawn.evidence.nats} nats, "
                f"{ratio:.3f} times the plain limit",
                flush=True,
            )


if __name__ == "__main__":
    main()
