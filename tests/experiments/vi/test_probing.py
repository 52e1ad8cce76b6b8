"""The predictions for unusual inputs: the forecast counts those that are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from pacbound.data import Dataset
from pacbound.experiments.vi.probing import probe_passes, save_probes
from pacbound.predict import Prediction
from pacbound.predict.metrics import Entropies


class Counting:
    """A predictor that knows nothing and records what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def predict(self, inputs: np.ndarray[Any, Any], samples: int) -> Prediction:
        self.asked.append((len(inputs), samples))
        even = np.full((len(inputs), 2), 0.5)
        return Prediction(even, Entropies.of(even, np.zeros(len(inputs))), samples)


@pytest.mark.parametrize("shape", [(8, 8), (8,)])
def test_the_forecast_counts_the_predictions_that_are_made(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    inputs, labels = np.zeros((30, *shape), np.uint8), np.arange(30) % 2
    data = Dataset("own", inputs, labels, inputs[:12], labels[:12], 2)
    predictor = Counting()
    test = predictor.predict(inputs[:12], 3)
    predictor.asked.clear()
    save_probes(tmp_path / "probes.npz", cast(Any, predictor), data, test)
    assert predictor.asked == probe_passes(data)
    assert bool(predictor.asked) == (len(shape) > 1)  # only images are corrupted
