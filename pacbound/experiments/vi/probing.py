"""Predictions of a trained network for unusual inputs: other data, corrupted images."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pacbound.data import Dataset, load
from pacbound.experiments.vi.corruption import CORRUPTIONS, STRENGTHS, corrupted
from pacbound.predict.archive import save_predictions
from pacbound.predict.examples import Examples, examples_of
from pacbound.predict.predictor import Prediction, Predictor
from pacbound.predictors.chunks import Report, silent

__all__ = ["other_examples", "save_probes"]

FEW = 2000  # corrupted test examples, and out-of-distribution examples
SAMPLES = 10  # the number of networks averaged for these


def other_examples(data: Dataset) -> Examples | None:
    """Images of the same shape that show something else; None for a user's own data.

    The other five classes for CIFAR-5. Fashion-MNIST for digits; for CIFAR-10 with a black frame
    and three equal colours.
    """
    if data.name not in ("mnist", "cifar-5", "cifar-10"):
        return None
    if data.name == "cifar-5":
        whole = examples_of(load("cifar-10"))
        there = whole.labels >= data.classes
        return Examples(whole.inputs[there][:FEW], whole.labels[there][:FEW], "cifar-10", "test")
    clothes = examples_of(load("fashion-mnist"), limit=FEW)
    if len(data.input_shape) == 2:
        return clothes
    framed = np.pad(clothes.inputs, ((0, 0), (2, 2), (2, 2)))
    coloured = np.repeat(framed[:, None], 3, axis=1)  # (n, 3, 32, 32)
    return Examples(coloured, clothes.labels, clothes.data, clothes.split)


def save_probes(
    path: Path, predictor: Predictor, data: Dataset, test: Prediction, report: Report = silent
) -> None:
    """Write the predictions for the test examples, other data, and corrupted test examples.

    The parts of the file are `test_…`, `other_…` and `noise-1_…` to `contrast-5_…`.
    """
    examples = examples_of(data)
    few = examples_of(data, limit=FEW)
    parts: list[tuple[str, Prediction, Examples]] = [("test_", test, examples)]
    if other := other_examples(data):
        parts.append(("other_", predictor.predict(other.inputs, SAMPLES), other))
    for number, kind in enumerate(CORRUPTIONS if len(data.input_shape) > 1 else ()):
        for strength in STRENGTHS:
            worse = corrupted(few.inputs, kind, strength)
            parts.append((f"{kind}-{strength}_", predictor.predict(worse, SAMPLES), few))
            done = number * len(STRENGTHS) + strength
            report("predicting corrupted images", done, len(CORRUPTIONS) * len(STRENGTHS))
    save_predictions(path, *parts)
