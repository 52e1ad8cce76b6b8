"""The scikit-learn estimator: its conventions, its soundness, and what it predicts with."""

from __future__ import annotations

import dataclasses
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

import pacbound
from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.networks.digests import tensors_digest
from pacbound.networks.values import values_of
from pacbound.priors.scaling import set_aside
from pacbound.priors.split import split_of
from pacbound.sklearn import PacBayesClassifier
from pacbound_cli import cli

FAST: dict[str, Any] = {"epochs": 5, "batch": 20, "learning_rate": 0.1}


@parametrize_with_checks([PacBayesClassifier(**FAST)])
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def blobs(n: int = 300, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(n, centers=classes, n_features=4, cluster_std=2.0, random_state=0)
    return X * [1, 100, 0.01, 1], np.array(["no", "yes", "perhaps"])[y]


@pytest.fixture(scope="module")
def fitted() -> PacBayesClassifier:
    return PacBayesClassifier(**FAST).fit(*blobs())


def test_it_is_found_lazily() -> None:
    assert pacbound.sklearn.PacBayesClassifier is PacBayesClassifier


@pytest.mark.parametrize("predictor", [None, "fixed", "draw"])
def test_the_certificate_holds_and_is_for_the_predicting_network(predictor: str | None) -> None:
    fitted = PacBayesClassifier(**FAST, predictor=predictor).fit(*blobs())
    certificate = fitted.certificate_
    assert certificate is not None
    assert checker.verify(certificate.to_json().encode()).accepted
    assert certificate.predictor == (predictor or "fixed")
    assert float(certificate.delta) == 0.05
    weights = {name: value.float() for name, value in values_of(fitted.network_).items()}
    drawn = certificate.evidence
    digest = certificate.model.sha256 if drawn is None else drawn.weights_sha256
    assert tensors_digest(weights) == digest
    assert certificate.made.training_command == "in Python, with these settings"


def test_predictions_make_the_certificates_errors(fitted: PacBayesClassifier) -> None:
    """On the counted examples; a near tie counts as an error, and may yet be right."""
    X, y = blobs()
    labels = np.searchsorted(fitted.classes_, y)
    rest = split_of(fitted._settings, seen_by(fitted, X, labels)).counted
    certificate = fitted.certificate_
    assert certificate is not None
    assert certificate.data.m == len(rest) == 150  # half of all
    wrong = int((fitted.predict(X[rest]) != y[rest]).sum())
    assert wrong <= certificate.claims[0].errors <= wrong + 3
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert np.array_equal(fitted.classes_[probabilities.argmax(1)], fitted.predict(X))


def seen_by(fitted: PacBayesClassifier, X: np.ndarray, labels: np.ndarray) -> Dataset:
    return Dataset("rest", fitted._seen(X), labels, None, None, len(fitted.classes_))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("fraction", [0.0, 0.5, 0.7])
def test_the_inputs_map_does_not_depend_on_counted_examples(
    share: float, fraction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With who is counted held fixed, the map of inputs and the prior are not of their values."""
    X, y = blobs()
    estimator = PacBayesClassifier(**FAST, scale_share=share, prior_fraction=fraction)
    first = clone(estimator).fit(X, y)
    labels = np.searchsorted(first.classes_, y)
    aside, rest = set_aside(X, labels, share)
    data = seen_by(first, X[rest], labels[rest])
    split = split_of(first._settings, data)
    counted = rest[split.counted]
    other = X.copy()
    other[counted] = 1e3 * other[counted][::-1] - 7
    orders = {len(X): np.concatenate([aside, rest])}
    if len(aside):
        orders[len(rest)] = np.concatenate([split.learned, split.counted])
    else:  # both orders are of all examples: the second is asked for on what is in the first
        monkeypatch.setattr("pacbound.sklearn.set_aside", lambda *_: (aside, rest))
        orders = {len(X): np.concatenate([split.learned, split.counted])}
    for module in ("pacbound.priors.scaling", "pacbound.priors.split"):
        monkeypatch.setattr(f"{module}.split_order", lambda digests, _: orders[len(digests)])
    second = clone(estimator).fit(other, y)
    assert np.array_equal(first.center_, second.center_)
    assert np.array_equal(first.scale_, second.scale_)
    assert np.array_equal(first._seen(X), second._seen(X))
    a, b = first.certificate_, second.certificate_
    assert a is not None and b is not None
    assert a.prior.sha256 == b.prior.sha256
    assert a.prior.choices == b.prior.choices
    assert a.data.m == b.data.m == len(counted) == round((1 - fraction) * len(rest))
    assert len(rest) == len(X) - len(aside)
    assert a.data.sha256 != b.data.sha256


def test_the_order_of_rows_has_no_influence() -> None:
    """Twelve orders of one table once gave bounds from 7.8 to 11.6 %."""
    X, y = blobs()
    found = set()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(X))
        fitted = PacBayesClassifier(**FAST).fit(X[order], y[order])
        assert fitted.certificate_ is not None
        certificate = fitted.certificate_
        found.add((certificate.data.sha256, certificate.prior.sha256))
    assert len(found) == 1


def test_who_isset_aside_is_a_share_of_all() -> None:
    for n in (1, 2, 19, 20, 100, 569):
        X = np.arange(n, dtype=float)[:, None]
        aside, rest = set_aside(X, np.zeros(n), 0.1)
        assert sorted([*aside, *rest]) == list(range(n))
        assert len(aside) == (n // 10 if n >= 20 else 0)
    assert not len(set_aside(X, np.zeros(n), 0)[0])


def test_a_deviation_of_zero_scales_nothing() -> None:
    X, y = blobs()
    X[:, 0] = 0.1
    fitted = PacBayesClassifier(**FAST).fit(X, y)
    assert fitted.scale_[0] == 1
    assert np.isfinite(fitted.predict_proba(X)).all()


@pytest.mark.parametrize(("n", "fraction"), [(4, 0.0), (7, 0.0), (8, 0.0), (15, 0.5), (16, 0.5)])
def test_few_examples_have_a_large_bound(n: int, fraction: float) -> None:
    """Without any error the binomial limit is 1 − δ^(1/m); no certificate may be below it."""
    X, y = blobs(n, 2)
    for predictor in ("draw", None):
        estimator = PacBayesClassifier(**FAST, prior_fraction=fraction, predictor=predictor)
        certificate = (fitted := estimator.fit(X, y)).certificate_
        assert certificate.risk_bound > 1 - 0.05 ** (1 / certificate.data.m) > 0.3
        if certificate.predictor == "draw":
            assert certificate.risk_bound > 0.4
    assert fitted.predict(X).shape == (n,)


def test_pickles_are_the_same_predictor(fitted: PacBayesClassifier) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    X, _ = blobs()
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.certificate_ == fitted.certificate_


def test_what_is_chosen_is_paid_for() -> None:
    X, y = blobs()
    more = {"hidden": (5,), "prior_seed": 3, "candidates": 12, "posterior": "diag", "delta": 0.1}
    learned = PacBayesClassifier(**FAST, **more).fit(X, y).certificate_
    assert learned is not None
    paid = vars(learned.prior.choices)
    assert (paid["seed"], paid["split_seed"], paid["prior_fraction"]) == (3, 0, "0.5")
    assert learned.ledger.candidates == 12
    certificate = PacBayesClassifier(**FAST, **more, prior_fraction=0.0).fit(X, y).certificate_
    assert certificate is not None
    paid = vars(certificate.prior.choices)
    assert (paid["widths"], paid["seed"]) == ((5,), 3)
    assert paid["initializer"] == "fan-in-uniform"
    assert certificate.ledger.candidates == 12
    assert certificate.model.posterior == "diag"
    assert float(certificate.delta) == 0.1


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"posterior": "k-liner"}, "did you mean 'k-linear'"),
        ({"delta": 2}, "delta"),
        ({"scale_share": 1.0}, "scale_share"),
        ({"epochs": 0}, "epochs"),
        ({"initializer": "ones"}, "initializer"),
        ({"objective": "pinker"}, "did you mean 'pinsker'"),
    ],
)
def test_parameters_that_make_no_sense(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PacBayesClassifier(**{**FAST, **parameters}).fit(*blobs())


def test_the_bound_of_real_examples_says_something() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    certificate = PacBayesClassifier(epochs=20).fit(X, y).certificate_
    assert certificate is not None
    assert certificate.risk_bound < 0.35


def test_a_search_is_told_to_declare_its_candidates() -> None:
    """MATH.md 5.2: candidates that were compared on the counted examples are paid for."""
    from sklearn.model_selection import GridSearchCV

    X, y = blobs()
    grid = {"learning_rate": [0.05, 0.1]}
    with pytest.warns(UserWarning, match=r"2 candidates .* PacBayesClassifier\(candidates=2\)"):
        GridSearchCV(PacBayesClassifier(**FAST), grid, cv=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(PacBayesClassifier(**FAST, candidates=2), grid, cv=2).fit(X, y)
    assert search.best_estimator_.certificate_.ledger.candidates == 2


def test_the_command_line_gives_the_same_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same table by `train table` and `certify`, by the estimator, and with all defaults."""
    few = [{"prior_epochs": 2}, {"prior_epochs": 9, "hidden": [4], "initializer": "he-normal"}]
    monkeypatch.setattr("pacbound.recipes.listed_candidates", lambda name: few)
    X, y = blobs(80)
    lines = [
        ",".join(map(repr, row)) + f",{label}" for row, label in zip(X.tolist(), y, strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n")
    checkpoint, target = tmp_path / "t.pt", tmp_path / "t.json"
    for arguments in (
        ["train", "table", "--data", tmp_path / "t.csv", "--label", "kind", "-o", checkpoint],
        ["certify", checkpoint, "--delta", "0.05", "-o", target],
    ):
        result = CliRunner().invoke(cli, [str(each) for each in arguments])
        assert result.exit_code == 0, result.output
    there = Certificate.load(target)
    fitted = PacBayesClassifier().fit(X, y)
    here = fitted.certificate_
    assert here.sentence == there.sentence and here.predictor == "fixed"
    assert here.claims == there.claims and here.prior == there.prior
    assert here.model == there.model
    assert here.made.settings["classes"] == there.made.settings["classes"]
    assert here.data == dataclasses.replace(there.data, name=here.data.name)
    assert fitted._settings.prior_epochs in (2, 9)
    drawn = PacBayesClassifier(predictor="draw").fit(X, y).certificate_
    command = ["certify", checkpoint, "--delta", "0.05", "--predictor", "draw", "-o", target]
    assert CliRunner().invoke(cli, [str(each) for each in command]).exit_code == 0
    assert Certificate.load(target).evidence == drawn.evidence
