"""Metrics of predicted probabilities: accuracy, likelihood, calibration, entropy.

Probabilities are (n, classes) and labels (n,).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BINS",
    "Bin",
    "Entropies",
    "accuracy",
    "auroc",
    "brier_score",
    "entropy",
    "error_by_coverage",
    "expected_calibration_error",
    "is_correct",
    "negative_log_likelihood",
    "reliability",
]


def is_correct(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the label is the most probable class in each row; the first one wins a tie."""
    correct: NDArray[np.bool_] = probabilities.argmax(1) == labels
    return correct


def accuracy(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """The share of correct rows.

    Example:
        >>> accuracy(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 0]))
        0.5
    """
    return float(is_correct(probabilities, labels).mean())


def negative_log_likelihood(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The mean of −ln p(label), in nats.

    A probability of zero counts as the smallest normal number, 2⁻¹⁰²²: a loss of 708 nats.

    Example:
        >>> round(negative_log_likelihood(np.array([[0.5, 0.5]]), np.array([1])), 4)
        0.6931
    """
    own = probabilities[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(own, np.finfo(np.float64).tiny)).mean())


def brier_score(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """The mean of Σ_k (p_k − 1[k = label])², in [0, 2].

    The sum over all classes, as in "Verification of forecasts expressed in terms of probability"
    (Brier 1950). For two classes it is twice the score of one class.

    Example:
        >>> brier_score(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1]))
        1.0
    """
    truth = np.eye(probabilities.shape[1])[labels]
    return float(((probabilities - truth) ** 2).sum(1).mean())


BINS = 15  # the usual number, of equal width


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
    # searchsorted compares with the reported edges, so both always agree.
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


def error_by_coverage(
    uncertainty: NDArray[np.floating], correct: NDArray[np.bool_], coverages: Sequence[float]
) -> list[float]:
    """The error on the most certain examples, for each share of examples that is answered.

    A share of n examples is rounded up to a whole number of them. Examples that tie with the last
    one answered are answered in their order.

    Example:
        >>> error_by_coverage(np.array([0.1, 0.9]), np.array([True, False]), (0.5, 1.0))
        [0.0, 0.5]
    """
    wrong = ~correct[np.argsort(uncertainty, kind="stable")]
    answered = [max(1, math.ceil(share * len(wrong))) for share in coverages]
    return [float(wrong[:n].mean()) for n in answered]


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
    Houlsby et al. 2011). The epistemic part is the disagreement of networks drawn from q.
    """

    total: NDArray[np.float64]
    aleatoric: NDArray[np.float64]
    epistemic: NDArray[np.float64]

    @classmethod
    def of(cls, mean: NDArray[np.float64], expected_entropy: NDArray[np.float64]) -> Entropies:
        """From the mean probabilities (n, classes) and the mean of the networks' entropies (n,)."""
        total = entropy(mean)
        # Non-negative by Jensen's inequality, except for rounding.
        return cls(total, expected_entropy, np.maximum(total - expected_entropy, 0.0))

    def means(self) -> dict[str, Any]:
        """The average of each over the examples."""
        parts = {"total": self.total, "aleatoric": self.aleatoric, "epistemic": self.epistemic}
        return {name: float(values.mean()) for name, values in parts.items()}


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
