"""The predictions that the evaluation of a cell makes, for forecasts."""

from __future__ import annotations

from pacbound.data import Dataset
from pacbound.experiments.vi.corruption import CORRUPTIONS, STRENGTHS
from pacbound.experiments.vi.probing import FEW, other_examples
from pacbound.predict.examples import examples_of

__all__ = ["predictions"]


def predictions(data: Dataset, samples: int) -> list[tuple[int, int]]:
    """The number of examples and of networks of every prediction: the test examples first."""
    test = len(examples_of(data).labels)
    other = other_examples(data)
    corrupted = len(CORRUPTIONS) * len(STRENGTHS) if len(data.input_shape) > 1 else 0
    return [
        (test, samples),
        *([(len(other.labels), samples)] if other else []),
        *[(min(test, FEW), samples)] * corrupted,
    ]
