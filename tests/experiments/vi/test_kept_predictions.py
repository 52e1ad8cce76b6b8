"""Predictions of an evaluation that was killed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pacbound.experiments.vi.kept import Kept
from pacbound.predict.metrics import Entropies
from pacbound.predict.predictor import Prediction


def test_predictions_that_were_made_are_not_made_again(tmp_path: Path) -> None:
    mean = np.array([[0.25, 0.75]])
    made = Prediction(mean, Entropies.of(mean, np.array([0.1])), 3)
    kept = Kept(tmp_path / "parts", "checkpoint 3")
    assert kept("test", lambda: made) is made
    again = Kept(tmp_path / "parts", "checkpoint 3")("test", pytest.fail)
    np.testing.assert_array_equal(again.probabilities, mean)
    np.testing.assert_allclose(again.entropies.epistemic, made.entropies.epistemic)
    assert again.samples == 3
    other = Prediction(1 - mean, made.entropies, 3)
    assert Kept(tmp_path / "parts", "another 3")("test", lambda: other) is other
    (tmp_path / "parts" / "test.npz").write_bytes(b"cut off")
    assert Kept(tmp_path / "parts", "checkpoint 3")("test", lambda: made) is made
    kept.discard()
    assert not (tmp_path / "parts").exists()
