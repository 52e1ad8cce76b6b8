"""The bound that training shows is that of the weights it saves, on real digits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from pacbound.api import StochasticModule
from pacbound.bounds import mcallester
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.data import Dataset

SHORT = {"epochs": 6, "batch": 30, "smoothing": 0.0, "hidden": [30], "hidden_bias": 0.0}


@pytest.fixture(scope="module")
def digits() -> Dataset:
    images, labels = load_digits(return_X_y=True)
    pixels = (images.reshape(-1, 8, 8) * 15).astype(np.uint8)
    return Dataset("digits", pixels, labels.astype(np.int64), None, None, 10)


def certified_parts(net: StochasticModule, data: Dataset) -> tuple[float, float]:
    """The certificate's mean risk and its KL, before Monte Carlo limits and the ledger."""
    certificate = net.certify(data, draws=200_000, weights=2000)
    (claim,) = certificate.claims
    assert certificate.evidence is not None
    return float(claim.mean), float(certificate.evidence.nats)


@pytest.mark.parametrize("averaging", [0.0, 0.995])
@pytest.mark.parametrize("recipe", ["mlp-30", "mlp-600"])
def test_shown_and_certified_agree(digits: Dataset, recipe: str, averaging: float) -> None:
    net = StochasticModule.from_recipe(recipe, {**SHORT, "averaging": averaging})
    net.fit(digits, progress=False)
    last = net.history[-1]
    risk, kl = certified_parts(net, digits)
    assert last.kl == pytest.approx(kl, rel=0.01, abs=0.1)
    complexity = mcallester.complexity(last.nats - last.kl + kl, digits.m, net.settings.delta)
    certified = bernoulli_kl_inverse(risk, complexity)
    assert abs(last.bound - certified) < 4 * last.bound_error + 0.003
    assert 0 < last.bound_error < 0.03


def test_a_short_run_loses_nothing_by_averaging(digits: Dataset) -> None:
    """Its average has no rubbish of the start in it."""
    bounds = []
    for averaging in (0.0, 0.995):
        net = StochasticModule.from_recipe("mlp-30", {**SHORT, "averaging": averaging})
        net.fit(digits, progress=False)
        bounds.append(net.certify(digits, draws=200_000).risk_bound)
    assert bounds[1] < bounds[0] + 0.01


def test_every_epoch_shows_what_it_saved(digits: Dataset) -> None:
    """A second pass over the same weights, with other noise, has the same risk."""
    net = StochasticModule.from_recipe("mlp-30", SHORT)
    net.fit(digits, progress=False)
    wrong = []
    for seed in range(40):
        (drawn,) = net.sample(1, seed)
        wrong.append((drawn(digits.train_inputs).argmax(1).numpy() != digits.train_labels).mean())
    error = np.std(wrong) / np.sqrt(len(wrong))
    assert abs(net.history[-1].risk - np.mean(wrong)) < 5 * error + 0.01


def test_a_few_more_epochs_do_not_undo_the_training(digits: Dataset) -> None:
    net = StochasticModule.from_recipe("mlp-30", {**SHORT, "epochs": 12})
    net.fit(digits, progress=False)
    before = net.history[-1]
    net.fit(digits, epochs=2, progress=False)
    after = net.history[-1]
    assert after.bound < before.bound + 2 * (before.bound_error + after.bound_error)
    assert after.learning_rate < net.settings.learning_rate / 7
