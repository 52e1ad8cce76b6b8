"""All metrics of a prediction."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from pacbound.predict.examples import Examples
from pacbound.predict.metrics import (
    Bin,
    accuracy,
    auroc,
    brier_score,
    expected_calibration_error,
    negative_log_likelihood,
    reliability,
)
from pacbound.predict.predictor import Prediction

__all__ = ["Evaluation", "OutOfDistribution", "detection", "evaluate"]


@dataclass(frozen=True)
class OutOfDistribution:
    """How well the entropies detect out-of-distribution examples; 0.5 is guessing, 1 is perfect."""

    data: str
    split: str
    examples: int
    auroc_total: float
    auroc_epistemic: float
    entropy: dict[str, float]  # the means on those examples


@dataclass(frozen=True)
class Evaluation:
    """The metrics of the averaged prediction of S networks."""

    data: str
    split: str
    examples: int
    samples: int
    accuracy: float
    error: float
    negative_log_likelihood: float
    brier_score: float
    expected_calibration_error: float
    entropy: dict[str, float]  # the means of total, aleatoric and epistemic
    bins: tuple[Bin, ...]
    out_of_distribution: OutOfDistribution | None = None

    def to_mapping(self) -> dict[str, Any]:
        """The metrics as plain dictionaries, for JSON."""
        return dataclasses.asdict(self)


def evaluate(prediction: Prediction, examples: Examples) -> Evaluation:
    """All metrics of the prediction for labelled examples."""
    probabilities, labels = prediction.probabilities, examples.labels
    bins = reliability(probabilities, labels)
    correct = accuracy(probabilities, labels)
    return Evaluation(
        data=examples.data,
        split=examples.split,
        examples=len(labels),
        samples=prediction.samples,
        accuracy=correct,
        error=1 - correct,
        negative_log_likelihood=negative_log_likelihood(probabilities, labels),
        brier_score=brier_score(probabilities, labels),
        expected_calibration_error=expected_calibration_error(bins),
        entropy=prediction.entropies.means(),
        bins=bins,
    )


def detection(inside: Prediction, outside: Prediction, other: Examples) -> OutOfDistribution:
    """How well a large entropy indicates that an example is from the other data."""
    return OutOfDistribution(
        data=other.data,
        split=other.split,
        examples=len(other.labels),
        auroc_total=auroc(inside.entropies.total, outside.entropies.total),
        auroc_epistemic=auroc(inside.entropies.epistemic, outside.entropies.epistemic),
        entropy=outside.entropies.means(),
    )
