"""Learning curves: the error on test examples during training, and where it is heading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pacbound.data import Dataset

__all__ = ["PAPER_EPOCHS", "extrapolated", "watched_error"]

EXAMPLES = 1000  # of the test examples
NETWORKS = 4  # averaged
FEWEST = 4  # points of a fit
PAPER_EPOCHS = 210


def watched_error(path: Path, data: Dataset, products: str) -> float:
    """The error of a few averaged networks on some of the test examples."""
    from pacbound.predict import Predictor, evaluate, examples_of

    examples = examples_of(data, limit=EXAMPLES)
    predictor = Predictor.of(path, data, finished=False, products=products)
    return evaluate(predictor.predict(examples.inputs, NETWORKS), examples).error


def extrapolated(record: Mapping[str, Any]) -> float | None:
    """The test error that the last third of a learning curve would have after the paper's epochs.

    The line a + b / epoch is fitted to the errors of the watched test examples; its change from the
    last epoch on is added to the error of all test examples. A schedule whose rate falls to 0 makes
    the last third steeper than a longer training would be, so this is a guess that errs to the low
    side. The third is that of the last phase: a curve through the end of a linear training and the
    beginning of one with flows says nothing. None if it has too few points.
    """
    points = [
        (point["epoch"], point["test_error"])
        for point in record.get("curve", ())  # older results have none
        if point.get("test_error") is not None
    ]
    if not points:
        return None
    last = points[-1][0]
    settings = record["settings"]
    phase = settings["epochs"] - settings.get("earlier_epochs", 0)  # the length of the last one
    late = [(epoch, error) for epoch, error in points if epoch > last - phase / 3]
    if len(late) < FEWEST or last >= PAPER_EPOCHS:
        return None
    epochs, errors = np.array(late).T
    slope = float(np.polyfit(1 / epochs, errors, 1)[0])
    change = slope * (1 / PAPER_EPOCHS - 1 / last)
    return float(min(1.0, max(0.0, record["evaluation"]["error"] + change)))
