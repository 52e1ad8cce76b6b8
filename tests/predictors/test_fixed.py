"""A fixed predictor on arrays: its claims, its ledger, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.data.digests import example_digests, id_digests, unnamed_digests
from pacbound.errors import PacboundError
from pacbound.predictors.claims import Costs, Wanted
from pacbound.predictors.concluding import new_ledger
from pacbound.predictors.fixed import fixed_certificate

N = 400
GENERATOR = np.random.default_rng(0)
LABELS = GENERATOR.integers(0, 3, N)
GUESSES = np.where(GENERATOR.random(N) < 0.8, LABELS, GENERATOR.integers(0, 3, N))
IDS = id_digests([f"r{k}" for k in range(N)], LABELS)
COSTS = Costs(
    "money",
    tuple(
        tuple(map(Decimal, row)) for row in (("0", "0.5", "1"), ("1", "0", "0.25"), ("1", "1", "0"))
    ),
)


def issue(**changes: Any) -> Certificate:
    given: dict[str, Any] = {"digests": IDS, "model_sha256": "ab" * 32, **changes}
    return fixed_certificate(LABELS, GUESSES, 3, **given)


def test_the_error_is_that_of_clopper_and_pearson() -> None:
    certificate = issue()
    errors = int((LABELS != GUESSES).sum())
    expected = beta.ppf(0.95, errors + 1, N - errors)
    assert certificate.claims[0].errors == errors
    assert certificate.risk_bound == pytest.approx(expected, abs=2e-10)


def test_every_claim() -> None:
    groups = tuple(np.where(np.arange(N) % 2, "odd", "even").tolist())
    names = ("overall", "per-class", "predicted-class")
    certificate = issue(wanted=Wanted(names, groups, COSTS))
    found = {(c.subject, c.loss): 0 for c in certificate.claims}
    assert len(found) == 5
    for claim in certificate.claims:
        members = np.ones(N, bool)
        if claim.subject == "true-class":
            members = claim.class_ == LABELS
        elif claim.subject == "predicted-class":
            members = claim.class_ == GUESSES
        elif claim.subject == "group":
            members = np.array(groups) == claim.group
        assert claim.m == members.sum()
        if claim.loss == "cost":
            matrix = np.array(COSTS.matrix, float)
            assert float(claim.total or 0) == pytest.approx(matrix[LABELS, GUESSES].sum())
        else:
            assert claim.errors == (LABELS != GUESSES)[members].sum()
        assert claim.bound > claim.empirical
    assert sum(claim.delta for claim in certificate.claims) == certificate.delta
    assert certificate.claims[0].delta >= certificate.delta / 2


def test_a_class_that_is_never_predicted_has_no_claim() -> None:
    guesses = np.where(GUESSES == 2, 1, GUESSES)
    certificate = fixed_certificate(
        LABELS,
        guesses,
        3,
        digests=IDS,
        model_sha256="ab" * 32,
        wanted=Wanted(("overall", "predicted-class")),
    )
    assert [c.class_ for c in certificate.claims] == [None, 0, 1]
    assert sum(c.delta for c in certificate.claims) == certificate.delta
    assert (
        certificate.claims[0].delta
        == issue(wanted=Wanted(("overall", "predicted-class"))).claims[0].delta
    )


def test_where_nothing_is_predicted_that_is_an_error() -> None:
    silent = np.where(np.arange(N) < 10, -1, LABELS)
    certificate = fixed_certificate(
        LABELS, silent, 3, digests=IDS, model_sha256="ab" * 32, wanted=Wanted(costs=COSTS)
    )
    assert certificate.claims[0].errors == 10
    assert certificate.claims[1].total == 10  # each row has a cost of 1


def test_looks_candidates_and_certificates_divide_delta() -> None:
    plain = issue(ledger=new_ledger())
    for ledger, share in (
        (new_ledger(candidates=5), 0.01),
        (new_ledger(looks=3), 0.05 / 8),
        (new_ledger(certificates=4), 0.0125),
        (new_ledger(place=2), 0.05 / (np.pi**2 * 4 / 6)),
    ):
        certificate = issue(ledger=ledger)
        errors = certificate.claims[0].errors or 0
        assert certificate.risk_bound > plain.risk_bound
        expected = beta.ppf(1 - share, errors + 1, N - errors)
        assert certificate.risk_bound == pytest.approx(expected, abs=1e-6)
        assert "Declared and paid for" in certificate.sentence


def test_copies_are_refused_or_declared() -> None:
    """MATH.md 5.6: coin flips that were copied twenty times."""
    generator = np.random.default_rng(0)
    inputs = np.repeat(generator.normal(size=(150, 3)), 20, axis=0)
    labels = np.repeat(generator.integers(0, 2, 150), 20)
    digests = example_digests(inputs, labels)
    given: dict[str, Any] = {"digests": digests, "model_sha256": "0" * 64}
    with pytest.raises(PacboundError, match="exact copies"):
        fixed_certificate(labels, labels, 2, **given)
    declared = fixed_certificate(labels, labels, 2, copies="independent", **given)
    assert "2850, declared to be independent" in declared.sentence
    unnamed = unnamed_digests(labels)
    given["digests"] = unnamed
    unknown = fixed_certificate(labels, labels, 2, copies="unknown", **given)
    assert "cannot be detected" in unknown.sentence


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"wanted": Wanted(groups=("a",))}, "1 groups are given for 400"),
        ({"wanted": Wanted(costs=Costs("c", ((Decimal(0),),)))}, "for 1 classes"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PacboundError, match=words):
        issue(**changes)


def test_bad_arrays_costs_and_names_are_refused() -> None:
    with pytest.raises(PacboundError, match="do not match"):
        fixed_certificate(LABELS, GUESSES[:5], 3, digests=IDS, model_sha256="ab" * 32)
    with pytest.raises(PacboundError, match="classes from 0 to 1"):
        fixed_certificate(LABELS, GUESSES, 2, digests=IDS, model_sha256="ab" * 32)
    for row in ((Decimal("1.5"),), (Decimal("nan"),), (Decimal(0), Decimal(0))):
        with pytest.raises(PacboundError):
            Costs("bad", (row,))
    for groups in (("a“b",), ("",), ("\x1b",), ("x" * 61,)):
        with pytest.raises(PacboundError, match="cannot be named"):
            Wanted(groups=groups)
    with pytest.raises(PacboundError, match="did you mean 'per-class'"):
        Wanted(("per-clas",))


def test_a_forged_count_is_rejected() -> None:
    record = issue().to_mapping()
    record["claims"][0]["errors"] -= 5
    assert checker.verify(json.dumps(record).encode()).check == "10.5"


# MATH.md 5.2: looks ---------------------------------------------------------------------------


def test_adaptive_looks_are_dear_and_what_they_buy_is_not_believed(
    record_property: Callable[[str, object], None],
) -> None:
    """Coin-flip labels, 600 features; a vote of the luckier signs looks at each of them once."""
    below = {"undeclared": 0, "as candidates": 0, "as looks": 0}
    repetitions, smallest = 20, 1.0
    for seed in range(repetitions):
        generator = np.random.default_rng(seed)
        features = generator.choice([-1, 1], (400, 600))
        labels = generator.integers(0, 2, 400)
        signs = np.sign((features * (2 * labels - 1)[:, None]).sum(0) + 0.5)  # one bit for each
        guesses = (features @ signs > 0).astype(np.int64)
        digests = example_digests(features.astype(np.float32), labels)
        for name, ledger in (
            ("undeclared", new_ledger()),
            ("as candidates", new_ledger(candidates=601)),
            ("as looks", new_ledger(looks=600)),
        ):
            certificate = fixed_certificate(
                labels, guesses, 2, digests=digests, model_sha256="0" * 64, ledger=ledger
            )
            below[name] += certificate.risk_bound < 0.5
            if name == "as looks":
                smallest = min(smallest, certificate.risk_bound)
    record_property(
        "measured",
        f"600 adaptive looks at coin flips: below the true 50 % {below} of {repetitions}; with "
        f"looks declared the smallest bound is {smallest:.2f}",
    )
    assert below["undeclared"] == below["as candidates"] == repetitions
    assert below["as looks"] == 0
