"""Near ties and near thresholds are judged in NumPy as in torch, and on the safe side."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pacbound.errors import SettingError
from pacbound.networks.near_ties import TIE, is_error
from pacbound.predictors.judging import ROUNDING, Judged, Outputs, confidences
from pacbound.predictors.risk import possible_classes
from pacbound.predictors.threshold import chosen_threshold, parse_threshold

N = 12
LOGITS = arrays(
    np.float32,
    (N, 3),
    elements=st.one_of(
        st.floats(-30, 30, width=32),
        st.sampled_from([0.0, 1.0, np.float32(1.0001), np.float32(0.9999), np.nan, np.inf]),
    ),
)


@given(LOGITS, arrays(np.int64, N, elements=st.integers(0, 2)))
def test_numpy_and_torch_judge_alike(logits: np.ndarray, labels: np.ndarray) -> None:
    judged = Judged.of(logits, labels)
    tensors = torch.from_numpy(logits), torch.from_numpy(labels)
    wrong = is_error(*tensors).numpy()
    assert (judged.wrong == wrong).all()
    possible = possible_classes(tensors[0]).numpy()
    assert (judged.possible[wrong] == possible[wrong]).all()
    assert (judged.possible[~wrong] == np.eye(3, dtype=bool)[labels[~wrong]]).all()
    assert (judged.tied == (judged.possible.sum(1) > 1)).all()


@given(LOGITS, arrays(np.int64, N, elements=st.integers(0, 2)), st.integers(1, N - 1))
def test_parts_are_joined_in_order(logits: np.ndarray, labels: np.ndarray, cut: int) -> None:
    outputs = [Outputs(3, scores=logits[rows]) for rows in (slice(cut), slice(cut, None))]
    parts = [
        each.judged(labels[rows], "0.5")
        for each, rows in zip(outputs, (slice(cut), slice(cut, None)), strict=True)
    ]
    whole, joined = Outputs(3, scores=logits).judged(labels, "0.5"), Judged.joined(parts)
    for name in ("wrong", "possible", "answered", "abstained"):
        assert (getattr(whole, name) == getattr(joined, name)).all()


@given(
    arrays(np.float64, (N, 4), elements=st.floats(-20, 20)),
    arrays(np.float64, (N, 4), elements=st.floats(-1, 1)),
)
def test_rounding_of_logits_stays_inside_the_range(logits: np.ndarray, signs: np.ndarray) -> None:
    """Every logit moved so that differences change by at most TIE times the largest."""
    low, high = confidences(logits)
    moved = logits + signs * TIE / 2 * np.abs(logits).max(1, keepdims=True)
    shifted = np.exp(moved - moved.max(1, keepdims=True))
    confidence = (shifted / shifted.sum(1, keepdims=True)).max(1)
    assert (low <= confidence).all() and (confidence <= high).all()
    assert (high - low >= 2 * ROUNDING * 0.99).all()


def test_what_is_too_close_to_call_counts_against_the_predictor() -> None:
    probabilities = np.array([[0.9, 0.1], [0.91, 0.09], [0.89, 0.11], [0.2, 0.8], [np.nan, 0.1]])
    labels = np.array([0, 0, 0, 1, 0])
    outputs = Outputs(2, scores=probabilities, are_probabilities=True)
    judged = outputs.judged(labels, "0.9")
    assert judged.answered.tolist() == [True, True, False, False, True]
    assert judged.abstained.tolist() == [True, False, True, True, True]
    assert judged.unclear.tolist() == [True, False, False, False, True]
    assert judged.wrong.tolist() == [False, False, False, False, True]
    always = outputs.judged(labels)
    assert always.answered.all() and not always.abstained.any()


def test_classes_alone_have_no_confidence() -> None:
    labels = np.array([0, 1, 1])
    outputs = Outputs(2, np.array([0, 1, -1]))
    assert outputs.judged(labels).wrong.tolist() == [False, False, True]
    with pytest.raises(SettingError, match="give probabilities"):
        outputs.judged(labels, "0.5")
    confident = Outputs(2, np.array([0, 1, 0]), confidence=np.array([0.2, 0.6, 0.7]))
    assert confident.judged(labels, "0.5").answered.tolist() == [False, True, True]


# Thresholds ---------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=30),
    st.data(),
    st.sampled_from(["0.05", "0.1", "0.34"]),
)
def test_the_chosen_threshold_is_the_lowest(
    places: list[int], data: st.DataObject, error: str
) -> None:
    """Against a scan of all thresholds with six decimals between the distinct confidences."""
    high = np.array(places) / 41 + 0.0117
    wrong = np.array(data.draw(st.lists(st.booleans(), min_size=len(high), max_size=len(high))))

    def is_good(threshold: float) -> bool:
        answered = high > threshold
        return bool(answered.any()) and wrong[answered].sum() <= float(error) * answered.sum()

    steps = np.array([1e-6, *(np.ceil(np.unique(high) * 1e6) / 1e6)])
    good = [step for step in steps if is_good(step)]
    if not good:
        with pytest.raises(SettingError, match="no threshold has an error"):
            chosen_threshold(high, wrong, Decimal(error), "these")
        return
    assert float(chosen_threshold(high, wrong, Decimal(error), "these")) == pytest.approx(good[0])


@pytest.mark.parametrize(
    "text", ["0", "1", "1.5", "-0.1", "nan", "inf", "high", "auto:", "auto:0", "auto:2", "1e-20"]
)
def test_a_threshold_outside_0_to_1_is_refused(text: str) -> None:
    with pytest.raises(SettingError):
        parse_threshold(text)


def test_requests_of_thresholds() -> None:
    assert not parse_threshold(None) and not parse_threshold("")
    assert parse_threshold(0.9).given == parse_threshold("0.9").given == "0.9"
    assert parse_threshold("9e-1").given == "0.9"
    assert parse_threshold("auto:0.01").error == Decimal("0.01")
