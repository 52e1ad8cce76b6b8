"""Predictions of a trained network for unusual inputs: other data, corrupted images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pacbound.data import Dataset, load
from pacbound.experiments.vi.corruption import CORRUPTIONS, STRENGTHS, corrupted
from pacbound.predict.archive import save_predictions
from pacbound.predict.examples import Examples, examples_of
from pacbound.predict.predictor import Prediction, Predictor
from pacbound.predictors.chunks import Report, silent

__all__ = ["Probes", "other_examples", "probe", "save_probes"]

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


@dataclass(frozen=True, eq=False)
class Probes:
    """Predictions for unusual inputs, with the examples that they are for."""

    other: tuple[Prediction, Examples] | None  # another data set
    corrupted: dict[tuple[str, int], Prediction]  # by kind and strength
    few: Examples  # the test examples that were corrupted


def probe(predictor: Predictor, data: Dataset, report: Report = silent) -> Probes:
    """Predict other data, and some of the test examples with every corruption."""
    few = examples_of(data, limit=FEW)
    examples = other_examples(data)
    other = (predictor.predict(examples.inputs, SAMPLES), examples) if examples else None
    kinds = CORRUPTIONS if len(data.input_shape) > 1 else ()
    asked = [(kind, strength) for kind in kinds for strength in STRENGTHS]
    found = {}
    for done, (kind, strength) in enumerate(asked, 1):
        worse = corrupted(few.inputs, kind, strength)
        found[kind, strength] = predictor.predict(worse, SAMPLES)
        report("predicting corrupted images", done, len(asked))
    return Probes(other, found, few)


def save_probes(path: Path, test: Prediction, examples: Examples, probes: Probes) -> None:
    """Write the predictions for the test examples and those of the probes.

    The parts of the file are `test_…`, `other_…` and `noise-1_…` to `contrast-5_…`.
    """
    parts: list[tuple[str, Prediction, Examples]] = [("test_", test, examples)]
    if probes.other:
        parts.append(("other_", *probes.other))
    for (kind, strength), prediction in probes.corrupted.items():
        parts.append((f"{kind}-{strength}_", prediction, probes.few))
    save_predictions(path, *parts)
