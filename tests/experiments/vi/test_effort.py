"""The forecast of an evaluation counts the predictions that it makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacbound.data import Dataset
from pacbound.experiments.tables.trained import CHECKPOINT, LOG
from pacbound.experiments.vi.cell import ViCell
from pacbound.experiments.vi.effort import predictions
from pacbound.predict import Prediction, Predictor
from pacbound.predict.metrics import Entropies
from pacbound.recipes import recipe
from pacbound.training.log import EpochRecord, TrainingLog


class Counting:
    """A predictor that knows nothing and records what it is asked for."""

    statistics, products = None, "float32"

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def predict(
        self, inputs: np.ndarray[Any, Any], samples: int, report: object = None
    ) -> Prediction:
        self.asked.append((len(inputs), samples))
        even = np.full((len(inputs), 2), 0.5)
        return Prediction(even, Entropies.of(even, np.zeros(len(inputs))), samples)


@pytest.mark.parametrize("shape", [(8, 8), (8,)])
def test_all_predictions_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    inputs, labels = np.zeros((30, *shape), np.uint8), np.arange(30) % 2
    data = Dataset("own", inputs, labels, inputs[:12], labels[:12], 2)
    predictor = Counting()
    monkeypatch.setattr(Predictor, "of", lambda path, data, products: predictor)
    (tmp_path / CHECKPOINT).write_bytes(b"weights")
    figures = EpochRecord(1, "bound", 0.1, 0.1, 1.0, 1.0, 0.2, 0.1, [1.0], [], 0.1, 1.0)
    TrainingLog(tmp_path / LOG).append(figures)
    cell = ViCell(recipe("vi-lenet-5"), "lenet-5", "k-linear", samples=3)
    cell.conclude(tmp_path, data, 1, lambda progress: None)
    assert predictor.asked == predictions(data, samples=3)
    assert len(predictor.asked) == (16 if len(shape) > 1 else 1)  # only images are corrupted
