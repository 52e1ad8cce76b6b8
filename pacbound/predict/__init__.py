"""Prediction with networks drawn from a posterior: probabilities, uncertainty, calibration."""

from __future__ import annotations

from pacbound.predict.evaluation import Evaluation, detection, evaluate
from pacbound.predict.examples import Examples, examples_of, rows_of
from pacbound.predict.predictor import Prediction, Predictor

__all__ = [
    "Evaluation",
    "Examples",
    "Prediction",
    "Predictor",
    "detection",
    "evaluate",
    "examples_of",
    "rows_of",
]
