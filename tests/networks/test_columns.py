"""The scaling of columns: its formula, and that it is a constant of the prior."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import pacbound
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.networks.columns import ColumnScaling
from pacbound.predictors.issuing import Request
from pacbound.priors.split import split_of
from pacbound.recipes import Settings, recipe

FAST = {"data": "(given)", "hidden": [3], "initializer": "he-normal", "prior_epochs": 3}


def made(m: int = 120) -> Dataset:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, m)
    inputs = generator.normal(2.0 * labels[:, None], 1.0, (m, 3)) * [1, 1000, 0.01] + [0, 5000, 0]
    return Dataset("made", inputs.astype(np.float32), labels, None, None, 2)


@pytest.fixture(scope="module")
def settings() -> Settings:
    return recipe("table", FAST)


def test_the_formula() -> None:
    inputs = made().train_inputs
    layer = ColumnScaling((3,))
    assert torch.allclose(layer(torch.from_numpy(inputs)), torch.asinh(torch.from_numpy(inputs)))
    layer.start(torch.from_numpy(inputs))
    exact = inputs.astype(np.float64)
    expected = np.arcsinh((exact - exact.mean(0)) / exact.std(0))
    assert np.allclose(layer(torch.from_numpy(inputs)).numpy(), expected, atol=1e-3)


def test_a_constant_column_is_not_scaled() -> None:
    inputs = torch.from_numpy(made().train_inputs)
    inputs[:, 1] = 0.1
    layer = ColumnScaling((3,))
    layer.start(inputs)
    assert layer.scale[1] == 1 and torch.isfinite(layer(inputs)).all()


def test_it_is_of_the_priors_part_alone_and_no_posterior_draws_it(settings: Settings) -> None:
    data = made()
    net = pacbound.StochasticModule(settings).fit(data, progress=False)
    part = split_of(settings, data).learned_data(data).train_inputs.astype(np.float64)
    networks = [each.network for each in net.sample(2)]
    networks += [
        net.covered(net.certify(data, predictor=predictor)).network
        for predictor in ("fixed", "draw")
    ]
    for network in networks:
        (layer,) = (each for each in network.modules() if isinstance(each, ColumnScaling))
        assert np.allclose(layer.center.numpy(), part.mean(0), rtol=1e-5)
        assert np.allclose(layer.scale.numpy(), part.std(0), rtol=1e-5)
    certificate = net.certify(data, predictor="draw")
    assert certificate.model.frozen == 6  # center and scale
    assert net.certify(data, replay_prior=True).made.prior["replay"]  # others would be refused


def test_the_default_predictor_is_that_of_the_settings(settings: Settings) -> None:
    data = made()
    net = pacbound.StochasticModule(settings).fit(data, progress=False)
    assert net.certify(data).predictor == "fixed"
    assert net.certify(data, predictor="gibbs", draws=1000).predictor == "gibbs"
    free = recipe("table", {"data": "(given)", "prior_fraction": 0.0, "epochs": 1})
    assert free.predictor == Request.__dataclass_fields__["predictor"].default == "gibbs"


def test_only_a_learned_prior_has_examples_to_scale_by(settings: Settings) -> None:
    with pytest.raises(PacboundError, match="prior_scaling is for built-in networks"):
        dataclasses.replace(settings, prior_fraction=0.0)
    with pytest.raises(PacboundError, match="prior_scaling is for built-in networks"):
        dataclasses.replace(settings, network="module", hidden=())
