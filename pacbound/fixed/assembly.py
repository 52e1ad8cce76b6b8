"""From a predictor of any kind and examples to what its certificate counts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import DataError, SettingError
from pacbound.fixed.case import Case, contents_of
from pacbound.fixed.classes import Classes, cells_of, classes_among, groups_of, written_alike
from pacbound.fixed.examples import Given, examples_given, plain
from pacbound.fixed.predictions import SUM, array_digest, case_of_file, ensure_probabilities
from pacbound.fixed.running import Ran, run_callable, run_estimator, run_module, run_onnx
from pacbound.predictors.judging import Judged, Outputs

__all__ = ["case_of", "is_array"]

SUMS = 1e-3  # scores of a network from 0 to 1 whose sums are this close to 1 are probabilities


def case_of(
    predictor: object,
    data: object,
    part: str,
    label: str,
    groups: Sequence[object] | str,
    ids: Sequence[object],
    file: Path | None,
) -> Case:
    """The predictor on the examples; for the arguments see `certify_fixed`."""
    if isinstance(predictor, str | os.PathLike):
        path = Path(predictor)
        if path.suffix.lower() != ".onnx":
            if data is not None:
                raise SettingError(f"the labels are in {path}: give no data besides")
            if isinstance(groups, str):
                return case_of_file(path, groups)
            case = case_of_file(path)
            return replace(case, groups=groups_of(groups)) if len(groups) else case
    if isinstance(groups, str):
        raise SettingError("groups are a column only of a file of predictions: give one of each")
    if data is None:
        raise SettingError("give the held-out examples: (inputs, labels), a file or a name")
    given = examples_given(data, part, label)
    ran = _ran(predictor, given, file)
    classes, labels, predicted = _classes(given, ran)
    outputs = _outputs(ran, classes, predicted)
    return Case(
        name=given.name,
        labels=labels,
        classes=classes,
        outputs=outputs,
        contents=contents_of(given.inputs, ids),
        source=ran.source,
        sha256=ran.sha256,
        groups=groups_of(groups),
        software=ran.software,
        settings={"outputs": _kind(outputs), **_named(classes, given).recorded},
    )


def _ran(predictor: Any, given: Given, file: Path | None) -> Ran:
    """The outputs of whatever kind of predictor it is."""
    if is_array(predictor):
        try:
            values = np.asarray(plain(predictor))
        except ValueError as error:  # rows of different lengths
            raise DataError(f"the predictions are no array: {str(error)[:200]}") from error
        if values.ndim == 2:
            if values.dtype.kind not in "fiu":
                raise DataError(f"probabilities are {values.dtype}: give numbers")
            ensure_probabilities(values, [f"column {k}" for k in range(values.shape[1])], 1)
        if values.ndim not in (1, 2) or len(values) != len(given.labels):
            raise DataError(
                f"predictions of shape {values.shape} for {len(given.labels)} labels: give one "
                "class or one row of probabilities for each"
            )
        return Ran(values, "predictions", array_digest(values))
    if given.inputs is None:
        raise SettingError("a predictor that is run needs inputs: give data as (inputs, labels)")
    if isinstance(predictor, str | os.PathLike):
        return run_onnx(Path(predictor), np.asarray(plain(given.inputs)))
    if hasattr(predictor, "state_dict") and hasattr(predictor, "modules"):
        return run_module(predictor, np.asarray(plain(given.inputs)))
    if hasattr(predictor, "predict"):
        return run_estimator(predictor, given.inputs, file)
    if callable(predictor):
        return run_callable(predictor, given.inputs, file)
    raise SettingError(
        f"{type(predictor).__name__} is not a predictor: give a file, a module, a classifier, an "
        "array or a function"
    )


def is_array(predictor: Any) -> bool:
    """Whether it holds predictions, and is nothing that can be run."""
    return isinstance(predictor, list | np.ndarray) or (
        hasattr(predictor, "__array__") and not callable(predictor)
    )


def _classes(given: Given, ran: Ran) -> tuple[Classes, NDArray[np.int64], NDArray[np.int64] | None]:
    """The classes; the numbers of the labels among them, and of what was predicted, if known."""
    decided = ran.values if ran.values.ndim == 1 else ran.decided
    truth, names, guesses = written_alike(
        cells_of(given.labels, "labels"),
        cells_of([] if ran.names is None else ran.names, "classes_"),
        cells_of([] if decided is None else decided, "predictions"),
    )
    if ran.names is not None:
        if len(set(names)) < len(names):
            raise DataError("two of the predictor's classes have one name")
        plain = names == [str(number) for number in range(len(names))]
        classes = Classes(len(names)) if plain else Classes(len(names), tuple(names))
    elif ran.values.ndim == 2:
        count = ran.values.shape[1]
        if given.names and given.classes != count:
            raise DataError(
                f"{given.name} holds {given.classes} classes and the predictor has {count} "
                "outputs: which class is which cannot be told from names; write class numbers"
            )
        classes = Classes(count)
    else:
        classes = classes_among("data", truth, guesses)
        if not classes.names:
            classes = Classes(max(classes.count, given.classes))
    predicted = None if decided is None else classes.numbers(guesses, "prediction", 1)
    return classes, classes.labels(truth, 1), predicted


def _outputs(ran: Ran, classes: Classes, predicted: NDArray[np.int64] | None) -> Outputs:
    """The outputs with classes as numbers."""
    if ran.values.ndim == 1:
        return Outputs(classes.count, predicted)
    scores = np.asarray(ran.values)
    if scores.dtype.kind not in "fiu":
        raise DataError(f"scores are {scores.dtype}: give numbers")
    if scores.dtype.kind != "f":
        scores = scores.astype(np.float64)
    limit = SUM if ran.source == "predictions" else SUMS
    with np.errstate(invalid="ignore"):
        inside = bool(((scores >= 0) & (scores <= 1)).all())
        probabilities = inside and bool((np.abs(scores.sum(1) - 1) <= limit).all())
    outputs = Outputs(
        classes.count,
        scores=scores,
        are_probabilities=probabilities or (inside and ran.source == "predictions"),
    )
    if predicted is None:
        return outputs
    # A classifier may decide otherwise than by its probabilities: then what it predicts counts.
    possible = Judged.of(scores, predicted).possible
    agree = possible[np.arange(len(predicted)), predicted].all()
    return outputs if agree else Outputs(classes.count, predicted)


def _named(classes: Classes, given: Given) -> Classes:
    """The classes with the names of a table, if its numbers were predicted."""
    plain = tuple(map(str, range(classes.count)))
    if classes.names or len(given.names) != classes.count or given.names == plain:
        return classes
    return replace(classes, names=given.names)


def _kind(outputs: Outputs) -> str:
    if outputs.scores is None:
        return "classes"
    return "probabilities" if outputs.are_probabilities else "logits"
