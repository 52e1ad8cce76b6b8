"""Calibration: whether a confidence of p is right in a share p of the cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbound.predict.accuracy import is_correct

__all__ = ["BINS", "Bin", "expected_calibration_error", "reliability"]

BINS = 15  # of equal width, the usual number


@dataclass(frozen=True)
class Bin:
    """The examples whose confidence is in (lower, upper]."""

    lower: float
    upper: float
    examples: int
    confidence: float | None  # the mean; None without examples
    accuracy: float | None


def reliability(
    probabilities: NDArray[np.floating], labels: NDArray[np.int64], bins: int = BINS
) -> tuple[Bin, ...]:
    """Confidence and accuracy in equal-width bins; confidence is the largest probability."""
    confidence = probabilities.max(1)
    correct = is_correct(probabilities, labels)
    edges = np.linspace(0, 1, bins + 1)
    # searchsorted compares with the edges that are reported, so that both always agree.
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    result = []
    for number in range(bins):
        inside = place == number
        count = int(inside.sum())
        result.append(
            Bin(
                float(edges[number]),
                float(edges[number + 1]),
                count,
                float(confidence[inside].mean()) if count else None,
                float(correct[inside].mean()) if count else None,
            )
        )
    return tuple(result)


def expected_calibration_error(bins: tuple[Bin, ...]) -> float:
    """Σ over bins of (share of the examples) · |accuracy − confidence|.

    "Obtaining Well Calibrated Probabilities Using Bayesian Binning" (Naeini et al. 2015).

    Example:
        >>> expected_calibration_error((Bin(0.8, 0.9, 4, 0.85, 0.75),)).__round__(3)
        0.1
    """
    total = sum(part.examples for part in bins)
    gaps = [
        part.examples * abs(part.accuracy - part.confidence)
        for part in bins
        if part.accuracy is not None and part.confidence is not None
    ]
    return float(sum(gaps)) / total
