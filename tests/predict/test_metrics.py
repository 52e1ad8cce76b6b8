"""Every metric against its definition, written out slowly, and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr
from scipy.stats import entropy as scipy_entropy
from scipy.stats import mannwhitneyu

from pacbound.predict.metrics import (
    BINS,
    Entropies,
    accuracy,
    auroc,
    brier_score,
    entropy,
    error_by_coverage,
    expected_calibration_error,
    is_correct,
    negative_log_likelihood,
    reliability,
)


def drawn(seed: int, n: int = 300, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.full(classes, 0.4), size=n)
    return probabilities, generator.integers(0, classes, n)


seeds = pytest.mark.parametrize("seed", range(4))


@seeds
def test_sums_over_examples(seed: int) -> None:
    probabilities, labels = drawn(seed)
    right = nll = brier = 0.0
    for row, label in zip(probabilities.tolist(), labels.tolist(), strict=True):
        right += all(p <= row[label] for p in row)
        nll -= math.log(row[label])
        brier += sum((p - (k == label)) ** 2 for k, p in enumerate(row))
    n = len(labels)
    assert accuracy(probabilities, labels) == pytest.approx(right / n)
    assert negative_log_likelihood(probabilities, labels) == pytest.approx(nll / n)
    assert brier_score(probabilities, labels) == pytest.approx(brier / n)


def test_sure_predictions() -> None:
    truth = np.eye(3)
    right, wrong = np.arange(3), np.array([1, 2, 0])
    assert accuracy(truth, right) == 1
    assert accuracy(truth, wrong) == 0
    assert brier_score(truth, right) == 0
    assert brier_score(truth, wrong) == 2
    assert negative_log_likelihood(truth, right) == 0
    assert negative_log_likelihood(truth, wrong) == pytest.approx(1022 * math.log(2))
    assert expected_calibration_error(reliability(truth, right)) == 0
    assert expected_calibration_error(reliability(truth, wrong)) == 1


@seeds
def test_bins_of_confidence(seed: int) -> None:
    probabilities, labels = drawn(seed)
    groups: dict[int, list[tuple[float, bool]]] = {}
    for row, label in zip(probabilities.tolist(), labels.tolist(), strict=True):
        sure = max(row)
        number = next(k for k in range(15) if sure <= (k + 1) / 15 or k == 14)
        groups.setdefault(number, []).append((sure, row.index(sure) == label))
    bins = reliability(probabilities, labels)
    assert len(bins) == BINS == 15
    error = 0.0
    for number, part in enumerate(bins):
        members = groups.get(number, [])
        assert part.examples == len(members)
        assert (part.lower, part.upper) == pytest.approx((number / 15, (number + 1) / 15))
        if members:
            sure = sum(s for s, _ in members) / len(members)
            right = sum(r for _, r in members) / len(members)
            assert (part.confidence, part.accuracy) == pytest.approx((sure, right))
            error += len(members) / len(labels) * abs(right - sure)
        else:
            assert part.confidence is None
            assert part.accuracy is None
    assert expected_calibration_error(bins) == pytest.approx(error)


def test_confidences_on_the_edges_are_in_the_lower_bin() -> None:
    sure = np.array([1.0, 0.8, 0.6])
    probabilities = np.stack([sure, 1 - sure], 1)
    bins = reliability(probabilities, np.zeros(3, dtype=np.int64), bins=5)
    assert [part.examples for part in bins] == [0, 0, 1, 1, 1]
    assert expected_calibration_error(bins) == pytest.approx((0.0 + 0.2 + 0.4) / 3)


def test_a_calibrated_predictor_has_a_small_error() -> None:
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet(np.ones(3), size=40_000)
    labels = (generator.random((40_000, 1)) > probabilities.cumsum(1)).sum(1).clip(max=2)
    assert expected_calibration_error(reliability(probabilities, labels)) < 0.01
    shifted = (labels + 1) % 3
    assert expected_calibration_error(reliability(probabilities, shifted)) > 0.2


@seeds
def test_entropies(seed: int) -> None:
    sampled = np.random.default_rng(seed).dirichlet(np.full(5, 0.3), size=(7, 40))
    mean = sampled.mean(0)
    parts = Entropies.of(mean, entropy(sampled).mean(0))
    np.testing.assert_allclose(parts.total, scipy_entropy(mean, axis=1))
    np.testing.assert_allclose(parts.aleatoric, scipy_entropy(sampled, axis=2).mean(0))
    # The mutual information is the mean divergence of the networks from their mean.
    np.testing.assert_allclose(parts.epistemic, rel_entr(sampled, mean).sum(2).mean(0))
    assert parts.means()["epistemic"] == pytest.approx(parts.epistemic.mean())


def test_entropies_of_extremes() -> None:
    sure = np.eye(4)[[[0, 1], [0, 1]]]  # two networks that agree and are sure
    parts = Entropies.of(sure.mean(0), entropy(sure).mean(0))
    assert parts.total.tolist() == parts.aleatoric.tolist() == parts.epistemic.tolist() == [0, 0]
    split = np.eye(4)[[[0], [1]]]  # two that are sure of different classes
    parts = Entropies.of(split.mean(0), entropy(split).mean(0))
    assert parts.aleatoric.tolist() == [0]
    assert parts.epistemic == pytest.approx(math.log(2))
    alike = np.full((3, 1, 4), 0.25)
    parts = Entropies.of(alike.mean(0), entropy(alike).mean(0))
    assert parts.total == pytest.approx(math.log(4))
    assert parts.epistemic == pytest.approx(0, abs=1e-12)


scores = st.lists(st.integers(-3, 3), min_size=1, max_size=12)  # few values: many ties


@given(scores, scores)
def test_auroc_counts_pairs(negative: list[int], positive: list[int]) -> None:
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    value = auroc(np.array(negative, dtype=float), np.array(positive, dtype=float))
    assert value == pytest.approx(sum(pairs) / len(pairs))
    swapped = auroc(np.array(positive, dtype=float), np.array(negative, dtype=float))
    assert value + swapped == pytest.approx(1)


@seeds
def test_auroc_is_the_mann_whitney_statistic(seed: int) -> None:
    generator = np.random.default_rng(seed)
    negative = generator.normal(size=500).round(1)
    positive = generator.normal(0.7, 1, size=300).round(1)
    statistic = mannwhitneyu(positive, negative).statistic
    assert auroc(negative, positive) == pytest.approx(statistic / (500 * 300))


@seeds
def test_error_by_coverage(seed: int) -> None:
    """Against a loop over the answered examples; all of them give the plain error."""
    probabilities, labels = drawn(seed, n=37)
    correct = is_correct(probabilities, labels)
    scores = entropy(probabilities)
    shares = (0.01, 0.3, 0.5, 1.0)
    for share, error in zip(shares, error_by_coverage(scores, correct, shares), strict=True):
        answered = sorted(range(37), key=lambda i: scores[i])[: max(1, math.ceil(37 * share))]
        assert error == pytest.approx(np.mean([not correct[i] for i in answered]))
    assert error_by_coverage(scores, correct, (1.0,)) == [
        pytest.approx(1 - accuracy(probabilities, labels))
    ]
