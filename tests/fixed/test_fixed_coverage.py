"""Certificates of fixed predictors hold as often as they say, where the true risks are known.

The world has a few kinds of inputs with known frequencies and label noise. The predictor, its
confidences, groups and costs are functions of the kind, so every true value is a finite sum. The
environment variable PACBOUND_COVERAGE is the number of repetitions (`make coverage`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pacbound
from pacbound.certificate.format import Claim
from pacbound.errors import SettingError

REPETITIONS = int(os.environ.get("PACBOUND_COVERAGE", "60"))
M, DELTA, KINDS = 150, 0.2, 12
WORLD = np.random.default_rng(21)
WEIGHTS = WORLD.dirichlet(np.ones(KINDS))
CHANCES = WORLD.dirichlet([3, 1, 1], KINDS)  # P(label | kind)
TABLE = 0.6 * np.eye(3)[CHANCES.argmax(1)] + 0.4 * WORLD.dirichlet(np.ones(3), KINDS)
GUESS, SURE = TABLE.argmax(1), TABLE.max(1)
GROUPS = np.array(["north", "south"])[WORLD.integers(0, 2, KINDS)]
MATRIX = np.array([[0, 0.5, 1], [0.25, 0, 0.75], [1, 0.3, 0]])
ABOVE = 0.8
assert 0.1 < WEIGHTS[SURE > ABOVE].sum() < 0.9


def truth(claim: Claim, answered: np.ndarray) -> float:
    """The mean loss of a claim's subject: a sum over kinds and labels."""
    weight = WEIGHTS[:, None] * CHANCES  # (kind, label)
    kinds, labels = np.indices(weight.shape)
    loss = {
        "zero-one": (GUESS[kinds] != labels).astype(float),
        "abstention": (~answered[kinds]).astype(float),
        "cost": MATRIX[labels, GUESS[kinds]],
    }[claim.loss]
    members = {
        "all": np.ones(weight.shape, bool),
        "answered": answered[kinds],
        "true-class": labels == claim.class_,
        "predicted-class": GUESS[kinds] == claim.class_,
        "group": GROUPS[kinds] == claim.group,
    }[claim.subject]
    return float((weight * loss)[members].sum() / weight[members].sum())


def draw(generator: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
    kinds = generator.choice(KINDS, m, p=WEIGHTS)
    labels = (generator.random((m, 1)) > CHANCES[kinds].cumsum(1)).sum(1)
    return kinds, np.minimum(labels, 2)


def at_most(repetitions: int) -> float:
    """False certificates if each is false with probability δ, and three standard deviations."""
    return DELTA * repetitions + 3 * (DELTA * (1 - DELTA) * repetitions) ** 0.5


CASES: dict[str, dict[str, Any]] = {
    "the error": {"claims": ["overall"]},
    "abstention": {"answer_above": ABOVE},
    "abstention, threshold chosen on others": {"answer_above": "auto:0.4"},
    "every claim": {
        "claims": ["overall", "answered", "per-class", "predicted-class"],
        "answer_above": ABOVE,
        "costs": MATRIX,
    },
    "costs by example": {"claims": ["overall"], "by_example": True},
}


@pytest.mark.parametrize("name", CASES)
def test_all_claims_hold_together(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    options = dict(CASES[name])
    by_example = options.pop("by_example", False)
    violated = unpaid = 0
    by_subject = Counter[str]()
    for repetition in range(REPETITIONS):
        generator = np.random.default_rng(repetition)
        kinds, labels = draw(generator, M)
        if name.endswith("others"):
            others, their_labels = draw(generator, M)
            options["calibration"] = (TABLE[others], their_labels)
        if by_example:
            options["example_costs"] = MATRIX[labels, GUESS[kinds]]
        if name == "every claim":
            options["groups"] = GROUPS[kinds].tolist()
        try:
            certificate = pacbound.certify_fixed(TABLE[kinds], labels, DELTA, **options)
        except SettingError:
            assert name.endswith("others")  # no threshold was good enough: no certificate
            continue
        answered = float(certificate.model.answer_above or 0) < SURE
        false = [c for c in certificate.claims if float(c.bound) < truth(c, answered)]
        violated += bool(false)
        by_subject.update(f"{c.subject} {c.loss}" for c in false)
        unpaid += any(float(c.mean) < truth(c, answered) for c in certificate.claims)
    record_property(
        "measured",
        f"fixed, {name}: {violated} of {REPETITIONS} certificates at δ = {DELTA} have a false "
        f"claim {dict(by_subject) or ''}; {unpaid} by the counts alone",
    )
    assert violated <= at_most(REPETITIONS)
    assert unpaid > DELTA * REPETITIONS  # the test can see a certificate that claims too much


def test_the_error_fails_about_as_often_as_delta_allows(
    record_property: Callable[[str, object], None],
) -> None:
    """A single claim on the error is exact up to the steps of the binomial distribution."""
    generator = np.random.default_rng(0)
    (claim,) = pacbound.certify_fixed(GUESS, GUESS).claims
    risk, limits = truth(claim, SURE > 0), {}
    fails = 0
    for _ in range(4000):
        kinds, labels = draw(generator, M)
        errors = int((GUESS[kinds] != labels).sum())
        if errors not in limits:
            limits[errors] = pacbound.certify_fixed(GUESS[kinds], labels, DELTA).risk_bound
        fails += limits[errors] < risk
    record_property("measured", f"fixed, error alone: {fails} of 4000 at δ = {DELTA} are false")
    assert 0.6 * DELTA * 4000 < fails < at_most(4000)
