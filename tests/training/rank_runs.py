"""Training runs for test_ranks.py: by one process there, and by two that torchrun starts here."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import torch

from pacbound.data import Dataset
from pacbound.devices import Arithmetic
from pacbound.errors import PacboundError
from pacbound.recipes import recipe
from pacbound.training.loop import train
from pacbound.training.ranks import ALONE, Ranks, joined

M = 215  # batches of 60 leave a last one of 35, which two processes share as 17 and 18
BASE = {
    "data": "made.npz",
    "hidden": [8],
    "hidden_bias": 0,
    "initial_scale": 0.05,
    "epochs": 2,
    "batch": 60,
    "learning_rate": 0.02,
}
FLOW = {"posterior": "k-nonlinear", "flow_hidden": [6], "linear_epochs": 1, "epochs": 2}
VGG = {"hidden": [2, 2, 3, 3, 4], "epochs": 1, "batch": 20, "posterior": "k-linear"}
# By name: the recipe, what differs from it, and the numbers that are computed with.
RUNS: dict[str, tuple[str, dict[str, object], str]] = {
    # Noise of a row is local to it; a bound that is far from linear in the risk.
    "diag": (
        "mlp-600",
        {
            **BASE,
            "posterior": "diag",
            "objective": "kl-inverse",
            "warm_start_epochs": 1,
            "averaging": 0.9,
        },
        "float64",
    ),
    "single precision": ("mlp-600", {**BASE, "objective": "catoni-trained"}, "float32"),
    # Weights are drawn for three parts of 20 rows; the second is cut between the processes.
    "weights drawn": ("mlp-600", {**BASE, **FLOW, "weight_draws": 3}, "float64"),
    # Convolutions, batch normalisation and augmentation.
    "vgg": ("vi-vgg-16-augmented", VGG, "float64"),
    "learned prior": (
        "mlp-600",
        {**BASE, "prior_fraction": 0.5, "prior_epochs": 2, "batch": 40},
        "float64",
    ),
}
INDEPENDENT = {**BASE, **FLOW, "weight_draws": 3, "noise_streams": 2}


def made(name: str) -> Dataset:
    """Examples of three classes: of grey images, or of coloured ones for VGG."""
    shape = (3, 32, 32) if name == "vgg" else (4, 4)
    m = 50 if name == "vgg" else M
    generator = np.random.default_rng(1)
    centers = generator.random((3, *shape))
    labels = generator.integers(0, 3, m)
    inputs = centers[labels] + 0.35 * generator.normal(size=(m, *shape))
    return Dataset("made", inputs.astype(np.float32), labels, None, None, 3)


def run(name: str, path: Path, ranks: Ranks = ALONE, resume: bool = False) -> None:
    of, changes, dtype = RUNS[name]
    arithmetic = Arithmetic.named("cpu", dtype)
    train(recipe(of, changes), made(name), path, resume=resume, ranks=ranks, arithmetic=arithmetic)


def main(folder: Path) -> None:
    """All runs by the processes of torchrun; `half.pt` there is one to be resumed."""
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    with joined(torch.device("cpu")) as ranks:
        for name in RUNS:
            run(name, folder / f"{name}.pt", ranks)
        run("diag", folder / "half.pt", ranks, resume=True)
        train(recipe("mlp-600", INDEPENDENT), made(""), folder / "independent.pt", ranks=ranks)
        try:
            small = recipe("mlp-600", {**BASE, "batch": M - 1})
            train(small, made(""), folder / "refused.pt", ranks=ranks)
        except PacboundError as error:
            (folder / f"refused-{ranks.rank}.txt").write_text(str(error))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
