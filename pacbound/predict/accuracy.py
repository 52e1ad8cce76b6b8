"""Accuracy: how often the most probable class is the label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["accuracy", "is_correct"]


def is_correct(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows have their label as the most probable class; of equal ones the first counts."""
    correct: NDArray[np.bool_] = probabilities.argmax(1) == labels
    return correct


def accuracy(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """The share of correct rows.

    Example:
        >>> accuracy(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 0]))
        0.5
    """
    return float(is_correct(probabilities, labels).mean())
