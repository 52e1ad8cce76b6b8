"""Predictions as an `.npz` file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.files import write_whole
from pacbound.predict.examples import Examples
from pacbound.predict.predictor import Prediction

__all__ = ["prediction_arrays", "save_predictions"]


def save_predictions(path: Path, *parts: tuple[str, Prediction, Examples]) -> None:
    """Write the arrays of `prediction_arrays`."""
    arrays = prediction_arrays(*parts)
    write_whole(path, lambda stream: np.savez(stream, **arrays))  # type: ignore[arg-type]


def prediction_arrays(*parts: tuple[str, Prediction, Examples]) -> dict[str, NDArray[Any]]:
    """Classes, probabilities, known labels and entropies, each name with the part's prefix.

    Arguments:
        parts: A prefix ("" or "ood_"), a prediction and the examples it is for.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for prefix, prediction, examples in parts:
        entropies = prediction.entropies
        arrays |= {
            f"{prefix}classes": prediction.probabilities.argmax(1),
            f"{prefix}probabilities": prediction.probabilities.astype(np.float32),
            f"{prefix}entropy": entropies.total.astype(np.float32),
            f"{prefix}aleatoric": entropies.aleatoric.astype(np.float32),
            f"{prefix}epistemic": entropies.epistemic.astype(np.float32),
        }
        if examples.labelled:
            arrays[f"{prefix}labels"] = examples.labels
    return arrays
