"""The negative log-likelihood of the labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["negative_log_likelihood"]


def negative_log_likelihood(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The mean of −ln p(label), in nats.

    A probability of zero counts as the smallest normal number, 2⁻¹⁰²²: a loss of 708 nats.

    Example:
        >>> round(negative_log_likelihood(np.array([[0.5, 0.5]]), np.array([1])), 4)
        0.6931
    """
    own = probabilities[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(own, np.finfo(np.float64).tiny)).mean())
