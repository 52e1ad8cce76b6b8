"""A threshold of the confidence that is chosen on declared calibration examples."""

from __future__ import annotations

import os
from pathlib import Path

from pacbound.data.digests import data_digest
from pacbound.errors import DataError, SettingError
from pacbound.fixed.assembly import case_of, is_array
from pacbound.fixed.case import Case
from pacbound.fixed.columns import READERS
from pacbound.predictors.threshold import Threshold, chosen_threshold

__all__ = ["calibrated_threshold"]


def calibrated_threshold(
    wished: Threshold,
    case: Case,
    predictor: object,
    calibration: object,
    part: str,
    label: str,
) -> tuple[str, dict[str, str]]:
    """The threshold, and what to record of its choice."""
    if calibration is not None and wished.error is None:
        raise SettingError(
            "calibration examples choose a threshold: give answer_above 'auto:ERROR'"
        )
    if wished.error is None:
        return wished.given, {}
    if calibration is None:
        raise SettingError(
            "a threshold can be chosen on calibration examples only: give some that are not counted"
        )
    other = _calibrated(predictor, calibration, part, label)
    shared = other.contents.shared_with(case.contents)
    same_file = other.source == case.source == "predictions" and other.sha256 == case.sha256
    if same_file or shared:
        raise DataError(
            f"{shared or len(other.labels)} of the {len(other.labels)} calibration examples are "
            "among the counted ones: a threshold must be chosen without these"
        )
    _, high = other.outputs.confidence_range()
    where = f"the {len(other.labels)} calibration examples"
    wrong = other.outputs.judged(other.labels).wrong
    digest = data_digest(other.contents.digests(other.labels), other.classes.count)
    return chosen_threshold(high, wrong, wished.error, where), {
        "answer_above": f"auto:{wished.error}",
        "calibration": f"{other.name}: {len(other.labels)} examples, sha256 {digest}",
    }


def _calibrated(predictor: object, calibration: object, part: str, label: str) -> Case:
    """The predictor on the calibration examples."""
    if isinstance(calibration, str | os.PathLike):
        path = Path(calibration)
        own = isinstance(predictor, str | os.PathLike) and Path(predictor).suffix.lower() in READERS
        if own:
            return case_of(path, None, "", "", "", (), None)
    if is_array(predictor):
        if not isinstance(calibration, tuple) or len(calibration) != 2:
            raise SettingError("calibration: give (predictions, labels), as for the counted ones")
        return case_of(calibration[0], calibration[1], "", "", (), (), None)
    return case_of(predictor, calibration, part, label, (), (), None)
