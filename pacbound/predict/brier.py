"""The Brier score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["brier_score"]


def brier_score(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """The mean of Σ_k (p_k − 1[k = label])², in [0, 2].

    The sum over all classes, as in "Verification of forecasts expressed in terms of probability"
    (Brier 1950); for two classes it is twice the score that looks at one of them.

    Example:
        >>> brier_score(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1]))
        1.0
    """
    truth = np.eye(probabilities.shape[1])[labels]
    return float(((probabilities - truth) ** 2).sum(1).mean())
