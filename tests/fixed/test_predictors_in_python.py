"""`pacbound.certify_fixed` on modules, estimators, functions and arrays, and their digests."""

from __future__ import annotations

import copy
import hashlib
import io
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import beta
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from torch import Tensor, nn

import pacbound
from pacbound.data import Dataset
from pacbound.data.digests import data_digest, example_digests
from pacbound.errors import PacboundError
from pacbound.networks.digests import tensors_digest

GENERATOR = np.random.default_rng(5)
X = GENERATOR.normal(size=(400, 4))
Y = (X @ GENERATOR.normal(size=(4, 3)) + 0.5 * GENERATOR.normal(size=(400, 3))).argmax(1)
HELD_OUT = X[200:], Y[200:]


def limit(errors: int, m: int, level: float = 0.05) -> float:
    return float(beta.ppf(1 - level, errors + 1, m - errors))


def module(data: Dataset) -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3)
    )
    x, y = torch.from_numpy(data.train_inputs), torch.from_numpy(data.train_labels)
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return net


# Modules ------------------------------------------------------------------------------------------


def test_a_module(tiny_data: Dataset) -> None:
    net = module(tiny_data)
    state = copy.deepcopy(net.state_dict())
    certificate = pacbound.certify_fixed(net, tiny_data, part="test")
    assert net.training  # as it was
    assert all(torch.equal(state[name], value) for name, value in net.state_dict().items())
    assert tiny_data.test_inputs is not None and tiny_data.test_labels is not None
    with torch.no_grad():
        wrong = net.eval()(torch.from_numpy(tiny_data.test_inputs)).argmax(1).numpy()
    errors = int((wrong != tiny_data.test_labels).sum())
    assert certificate.claims[0].errors == errors < 100
    assert certificate.risk_bound == pytest.approx(limit(errors, 200), abs=2e-10)
    assert certificate.model.source == "module"
    assert certificate.model.sha256 == tensors_digest(net.state_dict())
    digests = example_digests(tiny_data.test_inputs, tiny_data.test_labels)
    assert certificate.data.sha256 == data_digest(digests, 3)
    assert certificate.data.name == "blobs, test part"
    arrays = tiny_data.test_inputs, tiny_data.test_labels
    for data in (arrays, tuple(map(torch.from_numpy, arrays))):
        again = pacbound.certify_fixed(net, data)
        assert again.claims == certificate.claims
        assert again.data.sha256 == certificate.data.sha256


def test_the_part_is_named(tiny_data: Dataset) -> None:
    net = module(tiny_data)
    with pytest.raises(PacboundError, match="600 training and 200 test examples"):
        pacbound.certify_fixed(net, tiny_data)
    assert pacbound.certify_fixed(net, tiny_data, part="train").data.m == 600
    with pytest.raises(PacboundError, match="train or test"):
        pacbound.certify_fixed(net, tiny_data, part="validation")
    alone = Dataset("one", tiny_data.train_inputs, tiny_data.train_labels, None, None, 3)
    with pytest.raises(PacboundError, match="has no test examples"):
        pacbound.certify_fixed(net, alone, part="test")
    assert pacbound.certify_fixed(net, alone).data.m == 600


def test_bytes_are_divided_by_255() -> None:
    inputs = np.arange(256, dtype=np.uint8).reshape(-1, 1)
    labels = (inputs[:, 0] >= 128).astype(np.int64)

    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            assert x.dtype == torch.float32 and x.max() <= 1
            return torch.cat([0.5 - x, x - 0.5], 1)

    assert pacbound.certify_fixed(Net(), (inputs, labels)).claims[0].errors == 0


def test_near_ties_and_nan_are_errors() -> None:
    rows = torch.tensor([[1.0, 1.0], [1.0, 0.99995], [1.0, 0.99], [float("nan"), 0.0]])

    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return rows[x[:, 0].long()]

    inputs = np.arange(4, dtype=np.float32)[:, None]
    assert pacbound.certify_fixed(Net(), (inputs, np.zeros(4, int))).claims[0].errors == 3


class Noisy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.randn(len(x), 3)


class Batchwise(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(0))[:, :3]


class Pair(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x


@pytest.mark.parametrize(
    ("net", "words"),
    [
        (Noisy(), "a function of one example"),
        (Batchwise(), "a function of one example"),
        (Pair(), "must return one tensor"),
        (nn.Linear(5, 3), r"fails on inputs of shape \(200, 4\)"),
        (nn.Linear(4, 1), "one score for each example"),
        (nn.Linear(4, 2), "label '2' is not one of the 2 classes"),
        (nn.Unflatten(1, (2, 2)), "gives outputs of shape"),
    ],
)
def test_modules_that_are_no_classifiers_are_refused(net: nn.Module, words: str) -> None:
    with pytest.raises(PacboundError, match=words):
        pacbound.certify_fixed(net, HELD_OUT)


def test_a_stochastic_module_is_not_fixed(tiny_data: Dataset) -> None:
    net = pacbound.stochastic(nn.Sequential(nn.Flatten(), nn.Linear(16, 3)))
    with pytest.raises(PacboundError, match="a function of one example"):
        pacbound.certify_fixed(net, (tiny_data.test_inputs, tiny_data.test_labels))


# Estimators ---------------------------------------------------------------------------------------

ESTIMATORS = {
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(10, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "without probabilities": LinearSVC(),
}


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_an_estimator_and_its_copies(estimator: Any) -> None:
    estimator.fit(X[:200], Y[:200])
    certificate = pacbound.certify_fixed(estimator, HELD_OUT)
    assert certificate.model.source == "estimator"
    wrong = int((estimator.predict(HELD_OUT[0]) != HELD_OUT[1]).sum())
    tied = 0
    if hasattr(estimator, "predict_proba"):
        ordered = np.sort(estimator.predict_proba(HELD_OUT[0]), 1)
        tied = int((ordered[:, -1] - ordered[:, -2] <= 1e-4 * ordered[:, -1]).sum())
    assert certificate.claims[0].errors is not None
    assert wrong <= certificate.claims[0].errors <= wrong + tied
    stream = io.BytesIO()
    joblib.dump(estimator, stream)
    stream.seek(0)
    for other in (joblib.load(stream), pickle.loads(pickle.dumps(estimator))):
        again = pacbound.certify_fixed(other, HELD_OUT)
        assert again.model.sha256 == certificate.model.sha256
    changed = copy.deepcopy(estimator).fit(X[1:201], Y[1:201])
    assert pacbound.certify_fixed(changed, HELD_OUT).model.sha256 != certificate.model.sha256
    assert "scikit" in certificate.made.software or "sklearn" in certificate.made.software


def test_an_estimator_that_counts_its_uses_is_known_as_it_is_loaded() -> None:
    kept = pickle.dumps(KNeighborsClassifier(4).fit(X[:200], Y[:200]))
    first, second = (
        pacbound.certify_fixed(pickle.loads(kept), HELD_OUT).model.sha256 for _ in range(2)
    )
    assert first == second


def test_an_estimator_with_names_and_a_table() -> None:
    names = np.array(["cat", "dog", "owl"])
    table = pd.DataFrame(X, columns=list("abcd"))
    estimator = LogisticRegression().fit(table[:200], names[Y[:200]])
    certificate = pacbound.certify_fixed(
        estimator, (table[200:], pd.Series(names[Y[200:]])), claims=["overall", "per-class"]
    )
    plain = LogisticRegression().fit(X[:200], Y[:200])
    expected = pacbound.certify_fixed(plain, HELD_OUT, claims=["overall", "per-class"])
    assert certificate.claims == expected.claims
    assert certificate.made.settings["classes"] == "cat, dog, owl"


class Cautious(LogisticRegression):  # type: ignore[misc]
    def predict(self, X: Any) -> Any:
        return np.where(self.predict_proba(X)[:, 1] > 0.2, 1, 0)


def test_what_an_estimator_predicts_counts_if_its_probabilities_say_otherwise() -> None:
    data = X[200:], (Y[200:] == 1).astype(int)
    estimator = Cautious().fit(X[:200], (Y[:200] == 1).astype(int))
    certificate = pacbound.certify_fixed(estimator, data)
    assert certificate.claims[0].errors == (estimator.predict(data[0]) != data[1]).sum()
    with pytest.raises(PacboundError, match="give probabilities"):
        pacbound.certify_fixed(estimator, data, answer_above=0.9)


def test_a_class_that_the_estimator_does_not_know() -> None:
    estimator = DummyClassifier().fit(X[:200], np.minimum(Y[:200], 1))
    with pytest.raises(PacboundError, match="label '2' is not one of the 2 classes"):
        pacbound.certify_fixed(estimator, HELD_OUT)


def test_an_estimator_that_cannot_be_pickled(tmp_path: Path) -> None:
    estimator = SVC().fit(X[:200], Y[:200])
    estimator.note = lambda: 0
    with pytest.raises(PacboundError, match="cannot be pickled"):
        pacbound.certify_fixed(estimator, HELD_OUT)
    kept = tmp_path / "model.bin"
    kept.write_bytes(b"the model")
    certificate = pacbound.certify_fixed(estimator, HELD_OUT, file=kept)
    assert certificate.model.sha256 == hashlib.sha256(b"the model").hexdigest()


# Functions and arrays -----------------------------------------------------------------------------


def test_a_function_is_known_by_its_predictions(tmp_path: Path) -> None:
    def function(inputs: np.ndarray) -> np.ndarray:
        return inputs[:, :3].argmax(1)

    certificate = pacbound.certify_fixed(function, HELD_OUT)
    guesses = function(HELD_OUT[0])
    assert certificate.claims[0].errors == (guesses != HELD_OUT[1]).sum()
    np.save(tmp_path / "p.npy", guesses)
    digest = hashlib.sha256((tmp_path / "p.npy").read_bytes()).hexdigest()
    assert (certificate.model.source, certificate.model.sha256) == ("predictions", digest)
    assert certificate.data.copies == "counted"
    kept = pacbound.certify_fixed(function, HELD_OUT, file=tmp_path / "p.npy")
    assert (kept.model.source, kept.model.sha256) == ("estimator", digest)


def test_texts_are_their_own_ids() -> None:
    texts = np.array([f"message {k} {'free money' * (k % 3 == 0)}" for k in range(300)])
    labels = (np.arange(300) % 3 == 0).astype(int)

    def spam(messages: np.ndarray) -> list[int]:
        return [int("free" in text) for text in messages]

    certificate = pacbound.certify_fixed(spam, (texts, labels))
    assert certificate.claims[0].errors == 0 and certificate.data.duplicates == 0
    with pytest.raises(PacboundError, match="exact copies"):
        pacbound.certify_fixed(spam, (np.repeat(texts, 2), np.repeat(labels, 2)))
    objects = np.array([object() for _ in range(300)])
    with pytest.raises(PacboundError, match="give an id"):
        pacbound.certify_fixed(lambda x: np.zeros(len(x), int), (objects, labels))
    named = pacbound.certify_fixed(
        lambda x: np.zeros(len(x), int), (objects, labels), ids=range(300)
    )
    assert named.data.copies == "counted"


def test_arrays_of_classes_and_probabilities() -> None:
    estimator = LogisticRegression().fit(X[:200], Y[:200])
    table, guesses = estimator.predict_proba(X[200:]), estimator.predict(X[200:])
    errors = int((guesses != Y[200:]).sum())
    for predictor in (guesses, guesses.tolist(), table, torch.from_numpy(table)):
        certificate = pacbound.certify_fixed(predictor, Y[200:])
        assert certificate.claims[0].errors == errors
        assert certificate.data.copies == "unknown"
    assert pacbound.certify_fixed(guesses, HELD_OUT).data.copies == "counted"
    assert pacbound.certify_fixed(guesses, Y[200:], ids=range(200)).data.copies == "counted"
    groups, costs = ["a", "b"] * 100, (guesses != Y[200:]) * 0.5
    certificate = pacbound.certify_fixed(table, Y[200:], groups=groups, example_costs=costs)
    assert [c.subject for c in certificate.claims] == ["all", "all", "group", "group"]
    matrix = pacbound.certify_fixed(table, Y[200:], costs=0.5 * (1 - np.eye(3)))
    assert [c.total for c in matrix.claims] == [None, certificate.claims[1].total]


@pytest.mark.parametrize(
    ("predictor", "data", "options", "words"),
    [
        (Y[:5], Y[200:], {}, "predictions of shape"),
        (np.full((200, 3), 0.5), Y[200:], {}, "add up to 1.5"),
        (np.full((200, 3), np.nan), Y[200:], {}, "column 0 is nan"),
        (np.zeros((200, 3, 1)), Y[200:], {}, "predictions of shape"),
        (Y[200:], None, {}, "give the held-out examples"),
        (lambda x: x, Y[200:], {}, "needs inputs"),
        (7, HELD_OUT, {}, "int is not a predictor"),
        (Y[200:], (X[200:], Y[200:250]), {}, "do not match"),
        (Y[200:], Y[200:], {"groups": ["a"]}, "1 groups are given for 200"),
        (Y[200:], Y[200:], {"example_costs": [0]}, "1 costs are given for 200"),
        (Y[200:], Y[200:], {"ids": ["a"]}, "1 ids are given for 200"),
        (Y[200:], Y[200:], {"groups": "region"}, "a column only of a file"),
        (Y[200:], Y[200:], {"delta": 0.7}, "below 0.5"),
        (Y[200:], Y[200:], {"candidates": 0}, "candidates must be from 1"),
        (Y[200:], Y[200:], {"copies": "maybe"}, "counted or independent"),
        (Y[200:], Y[200:], {"claims": ["answered"]}, "need each other"),
        (Y[200:], Y[200:], {"claims": ["overal"]}, "did you mean 'overall'"),
        (Y[200:], Y[200:], {"answer_above": 0.9}, "give probabilities"),
        (lambda x: 1 / 0, HELD_OUT, {}, "ZeroDivisionError"),
        (lambda x: x, (X[:0], Y[:0]), {}, "no examples"),
        (Y[:0], Y[:0], {}, "no labels"),
        (lambda x: x, (5, Y), {}, "give the inputs and the labels"),
        (Y[200:], Y[200:], {"candidates": 2.5}, "candidates must be a whole number"),
        (Y[200:], Y[200:], {"looks": "1"}, "looks must be a whole number"),
        (Y[200:], Y[200:], {"groups": 7}, "groups: give a list"),
        (Y[200:], Y[200:], {"ids": "abc"}, "ids: give a list"),
        (Y[200:], Y[200:], {"example_costs": 0.5}, "example_costs: give a list"),
        ([[0], [1, 2]], Y[200:], {}, "predictions"),
        ([["a", "b"]] * 200, Y[200:], {}, "give numbers"),
        ([{}] * 200, Y[200:], {}, "numbers or texts"),
    ],
)
def test_what_does_not_fit_is_refused(
    predictor: Any, data: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(PacboundError, match=words):
        pacbound.certify_fixed(predictor, data, **options)


def test_arrays_and_nothing_as_options() -> None:
    groups = np.array(["a", " b"] * 100)
    guesses = Y[200:]
    certificate = pacbound.certify_fixed(guesses, Y[200:], groups=groups, candidates=np.int64(2))
    assert [c.group for c in certificate.claims] == [None, "a", "b"]
    assert certificate.ledger.user.candidates == 2 and certificate.to_json()
    plain = pacbound.certify_fixed(guesses, Y[200:], groups=None, ids=None, example_costs=None)
    assert len(plain.claims) == 1 and plain.data.copies == "unknown"
    for numbers in (pd.Series([1.0, 2.0] * 100), [1, 2] * 100, np.array([1.0, 2.0] * 100)):
        certificate = pacbound.certify_fixed(guesses, Y[200:], groups=numbers)
        assert [c.group for c in certificate.claims] == [None, "1", "2"]


def test_booleans_are_the_classes_0_and_1() -> None:
    truth, guesses = (Y[200:] > 0), (X[200:, 0] > 0)
    expected = int((truth != guesses).sum())
    pairs = ((truth, guesses.astype(int)), (truth.astype(int), guesses), (truth, guesses))
    for labels, predictions in pairs:
        certificate = pacbound.certify_fixed(predictions, labels)
        assert (certificate.data.classes, certificate.claims[0].errors) == (2, expected)
    estimator = LogisticRegression().fit(X[:200], Y[:200] > 0)
    certificate = pacbound.certify_fixed(estimator, (X[200:], truth.astype(int)))
    assert certificate.claims[0].errors == (estimator.predict(X[200:]) != truth).sum()


def test_predictions_as_objects() -> None:
    names = np.array(["cat", "dog", "owl"])
    guesses = X[200:, :3].argmax(1)
    series = pd.Series(names[guesses], dtype=object)
    expected = int((guesses != Y[200:]).sum())
    assert pacbound.certify_fixed(series, names[Y[200:]]).claims[0].errors == expected
    series[0] = None  # nothing predicted
    wrong = expected + int(guesses[0] == Y[200])
    certificate = pacbound.certify_fixed(series, names[Y[200:]])
    assert (certificate.claims[0].errors, certificate.data.classes) == (wrong, 3)


def test_codes_of_an_estimator_are_not_merged() -> None:
    codes = np.array(["007", "7", "x"])
    estimator = LogisticRegression().fit(X[:200], codes[Y[:200]])
    certificate = pacbound.certify_fixed(estimator, (X[200:], codes[Y[200:]]))
    assert certificate.claims[0].errors == (estimator.predict(X[200:]) != codes[Y[200:]]).sum()
    assert certificate.made.settings["classes"] == "007, 7, x"
    shifted = LogisticRegression().fit(X[:200], Y[:200] + 1)
    certificate = pacbound.certify_fixed(shifted, (X[200:], Y[200:] + 1))
    assert certificate.made.settings["classes"] == "1, 2, 3"


def test_examples_of_a_class_that_a_classifier_does_not_know_can_be_counted() -> None:
    estimator = LogisticRegression().fit(X[:200], np.minimum(Y[:200], 1))
    with pytest.raises(PacboundError, match=r"Keep such examples.*the predicted classes instead"):
        pacbound.certify_fixed(estimator, HELD_OUT)
    certificate = pacbound.certify_fixed(estimator.predict(X[200:]), HELD_OUT)
    assert certificate.claims[0].errors == (estimator.predict(X[200:]) != Y[200:]).sum()
