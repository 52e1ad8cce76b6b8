"""A predictor that abstains: its counts by hand, its threshold, its calibration, both checkers."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import pacbound
from pacbound.certificate import checker
from pacbound.errors import PacboundError
from pacbound.predictors.claims import Costs

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

from javascript_checker import JavaScriptChecker, is_installed

N = 500
GENERATOR = np.random.default_rng(8)
LABELS = GENERATOR.integers(0, 3, N)
LOGITS = 2 * GENERATOR.normal(size=(N, 3)) + 3 * np.eye(3)[LABELS]
TABLE = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
IDS = [f"e{k}" for k in range(N)]


def issue(table: np.ndarray = TABLE, **options: Any) -> pacbound.Certificate:
    return pacbound.certify_fixed(table, LABELS, ids=IDS, **{"answer_above": 0.9, **options})


def test_coverage_and_error_are_counted() -> None:
    certificate = issue()
    sure = TABLE.max(1) > 0.9
    wrong = TABLE.argmax(1) != LABELS
    abstains, answered = certificate.claims
    assert (abstains.subject, abstains.loss) == ("all", "abstention")
    assert (abstains.m, abstains.errors) == (N, int((~sure).sum()))
    assert (answered.m, answered.errors) == (int(sure.sum()), int(wrong[sure].sum()))
    assert abstains.delta + answered.delta == Decimal("0.05")
    for claim in certificate.claims:
        assert claim.errors is not None
        exact = beta.ppf(1 - float(claim.delta), claim.errors + 1, claim.m - claim.errors)
        assert float(claim.bound) == pytest.approx(exact, abs=2e-10)
    assert certificate.model.answer_above == "0.9"
    assert "it answers at least" in certificate.sentence
    assert "its error among the inputs that it answers is at most" in certificate.sentence


def test_too_close_to_call_is_answered_wrong_and_abstained() -> None:
    table = np.tile([0.05, 0.05, 0.9], (N, 1))
    table[100:] = [0.01, 0.01, 0.98]
    labels = np.full(N, 2)
    labels[:7] = 0
    certificate = pacbound.certify_fixed(table, labels, answer_above=0.9)
    abstains, answered = certificate.claims
    assert (abstains.errors, answered.m, answered.errors) == (100, N, 100)
    certificate = pacbound.certify_fixed(
        table, labels, answer_above="0.9", costs=Costs("c", ((Decimal(0),) * 3,) * 3)
    )
    totals = {c.subject: c.total for c in certificate.claims if c.loss == "cost"}
    assert totals == {"all": 0, "answered": 100}


def test_other_claims_judge_the_class_whether_it_answers_or_not() -> None:
    names = ["overall", "answered", "per-class", "predicted-class"]
    certificate = issue(claims=names)
    always = issue(claims=names[:1] + names[2:], answer_above=None)
    counts = [
        [(c.m, c.errors) for c in x.claims if c.subject != "answered"]
        for x in (certificate, always)
    ]
    assert [counts[0][0], *counts[0][2:]] == counts[1]


def test_nothing_answered_has_a_claim_of_1_on_abstention_alone() -> None:
    table = np.tile([0.4, 0.3, 0.3], (N, 1))
    certificate = issue(table)
    (claim,) = certificate.claims
    assert (claim.loss, claim.bound, claim.delta) == ("abstention", 1, Decimal("0.05"))
    assert checker.verify(certificate.to_json().encode()).accepted


@pytest.mark.skipif(not is_installed(), reason="node is not installed")
def test_both_checkers_accept_all_kinds_of_claims() -> None:
    names = ["overall", "answered", "per-class", "predicted-class"]
    groups, costs = ["a“"[:1], "b", "c", "d", "e"] * 100, GENERATOR.random(N)
    found = [
        issue(),
        issue(claims=names, groups=groups, example_costs=costs, candidates=5, looks=2, place=3),
        issue(claims=names, costs=1 - np.eye(3), certificates=4, delta=0.2),
        issue(np.tile([0.4, 0.3, 0.3], (N, 1))),
        pacbound.certify_fixed(TABLE.argmax(1), LABELS, claims=names[2:]),
        pacbound.certify_fixed(TABLE, LABELS, ids=[0] * N, copies="independent"),
    ]
    with JavaScriptChecker() as javascript:
        for certificate in found:
            content = certificate.to_json().encode()
            assert checker.verify(content).accepted
            assert javascript.check(content).check == "accepted"
            smaller = content.replace(b'"errors": ', b'"errors": 1')
            assert javascript.check(smaller).check == checker.verify(smaller).check != "accepted"


# Calibration --------------------------------------------------------------------------------------


def test_a_threshold_from_calibration_examples() -> None:
    half = N // 2
    certificate = pacbound.certify_fixed(
        TABLE[half:],
        LABELS[half:],
        answer_above="auto:0.02",
        calibration=(TABLE[:half], LABELS[:half]),
    )
    threshold = float(certificate.model.answer_above)
    sure = TABLE[:half].max(1)
    wrong = TABLE[:half].argmax(1) != LABELS[:half]
    assert wrong[sure > threshold].mean() <= 0.02
    for lower in sure[sure < threshold - 1e-4]:
        assert wrong[sure > lower].mean() > 0.02
    assert f"{half} examples, sha256 " in certificate.made.settings["calibration"]
    assert certificate.made.settings["answer_above"] == "auto:0.02"
    fixed = pacbound.certify_fixed(
        TABLE[half:], LABELS[half:], answer_above=certificate.model.answer_above
    )
    assert fixed.claims == certificate.claims


def test_calibration_examples_are_not_counted(tmp_path: Path) -> None:
    inputs = GENERATOR.normal(size=(N, 3)).astype(np.float32)

    def function(rows: np.ndarray) -> np.ndarray:
        return np.exp(rows) / np.exp(rows).sum(1, keepdims=True)

    labels = inputs.argmax(1)
    options: dict[str, Any] = {"answer_above": "auto:0.1"}
    apart = (inputs[:200], labels[:200])
    pacbound.certify_fixed(function, (inputs[200:], labels[200:]), calibration=apart, **options)
    with pytest.raises(PacboundError, match="50 of the 200 calibration examples are among"):
        pacbound.certify_fixed(function, (inputs[150:], labels[150:]), calibration=apart, **options)
    with pytest.raises(PacboundError, match="50 of the 200 calibration examples are among"):
        pacbound.certify_fixed(
            function,
            (inputs[150:], labels[150:]),
            calibration=apart,
            copies="independent",  # no excuse: a threshold was fitted to them
            **options,
        )
    other_labels = (inputs[:200], (labels[:200] + 1) % 3)  # equal inputs are enough
    with pytest.raises(PacboundError, match="among the counted ones"):
        pacbound.certify_fixed(
            function, (inputs, labels), calibration=other_labels, answer_above="auto:0.99"
        )
    path = tmp_path / "p.csv"
    rows = [f"{y},{p[0]:.6f},{p[1]:.6f},{p[2]:.6f}" for y, p in zip(LABELS, TABLE, strict=True)]
    path.write_text("\n".join(["label,p_0,p_1,p_2", *rows]))
    with pytest.raises(PacboundError, match="among the counted ones"):
        pacbound.certify_fixed(path, calibration=path, answer_above="auto:0.1")


@pytest.mark.parametrize(
    ("counted", "other"),
    [
        (np.float64, np.float32),
        (np.float32, np.float64),
        (np.float32, np.float16),
        (np.int64, np.float32),
        (np.uint8, np.int64),
        (np.uint8, np.float64),
    ],
)
def test_calibration_examples_are_seen_in_other_types(counted: Any, other: Any) -> None:
    inputs = (GENERATOR.random((N, 3)) * 200).astype(counted)
    rows = inputs.astype(other)
    labels = inputs.argmax(1)
    options: dict[str, Any] = {"answer_above": "auto:0.9"}

    def function(rows: np.ndarray) -> np.ndarray:
        return np.eye(3)[np.asarray(rows).reshape(-1, 3).argmax(1)] * 0.9 + 1 / 30

    for again in (rows, rows.reshape(N, 1, 3), *([rows / 255] if counted == np.uint8 else [])):
        for ids in ((), range(N)):
            with pytest.raises(PacboundError, match="calibration examples are among"):
                pacbound.certify_fixed(
                    function,
                    (inputs, labels),
                    calibration=(again[5:], labels[5:]),
                    ids=ids,
                    **options,
                )
    fresh = (GENERATOR.random((N, 3)) * 100 + 300).astype(np.float64)
    pacbound.certify_fixed(function, (inputs, labels), calibration=(fresh, labels), **options)


def test_calibration_examples_are_seen_by_ids_of_other_types(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", label=LABELS, probabilities=TABLE, id=np.arange(N, dtype=float))
    rows = [
        f"{k},{y},{p[0]:.6f},{p[1]:.6f},{p[2]:.6f}"
        for k, (y, p) in enumerate(zip(LABELS, TABLE, strict=True))
    ]
    (tmp_path / "q.csv").write_text("\n".join(["id,label,p_0,p_1,p_2", *rows[:100]]))
    with pytest.raises(PacboundError, match="100 of the 100 calibration examples are among"):
        pacbound.certify_fixed(
            tmp_path / "p.npz", calibration=tmp_path / "q.csv", answer_above="auto:0.1"
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"answer_above": "auto:0.01"}, "on calibration examples only"),
        (
            {"answer_above": 0.9, "calibration": (TABLE, LABELS)},
            "calibration examples choose a threshold",
        ),
        ({"answer_above": "auto:0.01", "calibration": TABLE}, r"give \(predictions, labels\)"),
        ({"answer_above": 1.0}, "above 0 and below 1"),
        ({"answer_above": "0.9", "claims": ["overall"]}, "need each other"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(PacboundError, match=words):
        issue(**options)


def test_no_threshold_is_good_enough() -> None:
    with pytest.raises(PacboundError, match="no threshold has an error"):
        issue(answer_above="auto:0.01", calibration=(TABLE[1:], (TABLE[1:].argmax(1) + 1) % 3))
