"""What the uncertainty of a network is good for: the figures that are published for each cell."""

from __future__ import annotations

from typing import Any

from pacbound.experiments.vi.probing import Probes
from pacbound.predict.evaluation import detection, evaluate
from pacbound.predict.examples import Examples
from pacbound.predict.metrics import error_by_coverage, is_correct
from pacbound.predict.predictor import Prediction

__all__ = ["COVERAGES", "uncertainty"]

COVERAGES = tuple(n / 20 for n in range(1, 21))
CORRUPTED = ("error", "negative_log_likelihood", "expected_calibration_error")


def uncertainty(test: Prediction, examples: Examples, probes: Probes) -> dict[str, Any]:
    """Abstention by entropy, detection of other data, and corrupted test images, for JSON."""
    correct = is_correct(test.probabilities, examples.labels)
    errors = error_by_coverage(test.entropies.total, correct, COVERAGES)
    corrupted = [
        {"kind": kind, "strength": strength, "examples": len(probes.few.labels)}
        | {name: getattr(evaluate(prediction, probes.few), name) for name in CORRUPTED}
        for (kind, strength), prediction in probes.corrupted.items()
    ]
    found: dict[str, Any] = {
        "abstention": [
            {"coverage": share, "error": error}
            for share, error in zip(COVERAGES, errors, strict=True)
        ],
        "corrupted": corrupted,
    }
    if probes.other:
        outside, other = probes.other
        inside = detection(test, outside, other)
        found["other"] = {
            "data": inside.data,
            "examples": inside.examples,
            "auroc_total": inside.auroc_total,
            "auroc_epistemic": inside.auroc_epistemic,
        }
    return found
