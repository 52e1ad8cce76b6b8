"""Predictions of a trained network for unusual inputs: other data, corrupted images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pacbound.data import Dataset, load
from pacbound.experiments.vi.corruption import CORRUPTIONS, STRENGTHS, corrupted
from pacbound.experiments.vi.kept import Kept
from pacbound.predict.archive import save_predictions
from pacbound.predict.examples import Examples, examples_of
from pacbound.predict.predictor import Prediction, Predictor
from pacbound.predictors.chunks import Report, silent

__all__ = ["OTHER", "Probes", "other_examples", "probe", "save_probes"]

OTHER = {"mnist": "fashion-mnist", "cifar-5": "cifar-10", "cifar-10": "fashion-mnist"}

FEW = 1000  # corrupted test examples
OTHERS = 2000  # out-of-distribution examples


def other_examples(data: Dataset) -> Examples | None:
    """Images of the same shape that show something else; None for a user's own data.

    The other five classes for CIFAR-5. Fashion-MNIST for digits; for CIFAR-10 with a black frame
    and three equal colours.
    """
    if data.name not in OTHER:
        return None
    other = load(OTHER[data.name])
    if data.name == "cifar-5":
        whole = examples_of(other)
        there = np.flatnonzero(whole.labels >= data.classes)[:OTHERS]
        return Examples(whole.inputs[there], whole.labels[there], other.name, "test")
    clothes = examples_of(other, limit=OTHERS)
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


def probe(
    predictor: Predictor, data: Dataset, samples: int, kept: Kept, report: Report = silent
) -> Probes:
    """Predict other data, and some of the test examples with every corruption.

    As many networks are averaged as for the test examples: fewer would have less entropy, and so
    would not compare.
    """
    few = examples_of(data, limit=FEW)
    examples = other_examples(data)
    other = None
    if examples:
        inputs = examples.inputs
        other = kept("other", lambda: predictor.predict(inputs, samples)), examples
    kinds = CORRUPTIONS if len(data.input_shape) > 1 else ()
    asked = [(kind, strength) for kind in kinds for strength in STRENGTHS]
    found = {}
    for done, (kind, strength) in enumerate(asked, 1):

        def predicted(kind: str = kind, strength: int = strength) -> Prediction:
            return predictor.predict(corrupted(few.inputs, kind, strength), samples)

        found[kind, strength] = kept(f"{kind}-{strength}", predicted)
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
