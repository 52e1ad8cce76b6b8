"""The area under the ROC curve of a score that should be larger for one kind of example."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["auroc"]


def auroc(negative: NDArray[np.floating], positive: NDArray[np.floating]) -> float:
    """P(positive > negative) + ½ P(positive = negative), over all pairs of scores.

    Equal to the Mann–Whitney statistic U divided by the number of pairs.

    Example:
        >>> auroc(np.array([0.1, 0.2]), np.array([0.2, 0.3]))
        0.875
    """
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, side="left")
    not_above = np.searchsorted(ordered, positive, side="right")
    return float((below + not_above).sum() / (2 * len(negative) * len(positive)))
