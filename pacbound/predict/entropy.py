"""How uncertain a prediction is, and how much of that the posterior is to blame for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Entropies", "entropy"]


def entropy(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """−Σ p ln p over the last dimension, in nats; 0 ln 0 = 0.

    Example:
        >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(4).tolist()
        [0.0, 0.6931]
    """
    logs = np.log(probabilities, where=probabilities > 0, out=np.zeros_like(probabilities))
    total: NDArray[np.float64] = 0.0 - (probabilities * logs).sum(-1)
    return total


@dataclass(frozen=True, eq=False)
class Entropies:
    """The entropy of every example's predictive distribution and its two parts, in nats.

    total = H(mean of p), aleatoric = mean of H(p), epistemic = total − aleatoric: the mutual
    information between the label and the weights ("Weight Uncertainty and Active Learning",
    Houlsby et al. 2011). The epistemic part is what networks drawn from q disagree about.
    """

    total: NDArray[np.float64]
    aleatoric: NDArray[np.float64]
    epistemic: NDArray[np.float64]

    @classmethod
    def of(cls, mean: NDArray[np.float64], expected_entropy: NDArray[np.float64]) -> Entropies:
        """From the mean probabilities (n, classes) and the mean of the networks' entropies (n,)."""
        total = entropy(mean)
        # By Jensen not negative; rounding may make it so.
        return cls(total, expected_entropy, np.maximum(total - expected_entropy, 0.0))

    def means(self) -> dict[str, Any]:
        """The average of each over the examples."""
        parts = {"total": self.total, "aleatoric": self.aleatoric, "epistemic": self.epistemic}
        return {name: float(values.mean()) for name, values in parts.items()}
