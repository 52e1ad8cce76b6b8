"""A stochastic network as a module: calls, samples, probabilities, KL, the user's own loop."""

from __future__ import annotations

import math

import pytest
import torch
from own_modules import arrays, certified, dense, trained
from torch import nn

import pacbound
from pacbound.bounds.prior_grid import index_cost
from pacbound.data import Dataset


def test_it_is_a_module(tiny_data: Dataset) -> None:
    """Calls draw fresh weights, and everything that torch does with modules works."""
    net = trained(arrays(tiny_data))
    x = torch.from_numpy(tiny_data.train_inputs[:50])
    assert isinstance(net, nn.Module)
    assert net(x).shape == (50, 3)
    assert not torch.equal(net(x), net(x))
    torch.manual_seed(3)
    first = net(x)
    torch.manual_seed(3)
    assert torch.equal(first, net(x))
    assert torch.equal(net.mean(x), net.mean(x))
    again = pacbound.stochastic(dense(), posterior="diag")
    again.load_state_dict(net.state_dict())
    assert torch.equal(again.mean(x), net.mean(x))
    assert net.double()(x).dtype == torch.float64
    assert net.float()(x).dtype == torch.float32


def test_fresh_weights_have_the_law_of_the_posterior(tiny_data: Dataset) -> None:
    """Means and deviations of the logits, against networks that are drawn whole."""
    net = trained(arrays(tiny_data), settings={"initial_scale": 0.3})
    x, n = torch.from_numpy(tiny_data.train_inputs[:3]), 2000
    torch.manual_seed(0)
    with torch.no_grad():
        calls = torch.stack([net(x) for _ in range(n)])
        whole = torch.stack([drawn(x) for drawn in net.sample(n)])
    error = 5 * whole.std(0) * (2 / n) ** 0.5
    assert ((calls.mean(0) - whole.mean(0)).abs() < error).all()
    assert torch.allclose(calls.std(0), whole.std(0), rtol=0.1)


def test_probabilities_are_those_of_sampled_networks(tiny_data: Dataset) -> None:
    net = trained(arrays(tiny_data))
    few = tiny_data.train_inputs[:20]
    mean = torch.stack([drawn(few).double().softmax(1) for drawn in net.sample(400)]).mean(0)
    predicted = net.predict_proba(few, samples=400)
    assert predicted.shape == (20, 3)
    assert torch.allclose(predicted.sum(1), torch.ones(20, dtype=torch.float64))
    assert (predicted - mean).abs().max() < 0.05
    assert torch.equal(predicted, net.predict_proba(torch.from_numpy(few), samples=400))
    with pytest.raises(
        pacbound.errors.DataError, match="the network was trained on inputs of shape"
    ):
        net.predict_proba(few.reshape(len(few), -1)[:, :3])


def test_dropout_stays_off_in_every_mode(tiny_data: Dataset) -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Dropout(0.9), nn.Linear(8, 3))
    net = pacbound.stochastic(module, posterior="diag").train()
    x = torch.from_numpy(tiny_data.train_inputs[:5])
    assert net.training
    assert torch.equal(net.mean(x), net.mean(x))


def test_a_posterior_that_was_trained_elsewhere_is_certified(tiny_data: Dataset) -> None:
    """The user's own loop: the module's calls, its kl, and any optimiser."""
    data = arrays(tiny_data)
    net = pacbound.stochastic(dense(), posterior="diag", settings={"initial_scale": 0.1})
    inputs, labels = torch.from_numpy(data[0]), torch.from_numpy(data[1])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    start = net.kl().item()
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(inputs), labels) + net.kl() / tiny_data.m
        loss.backward()
        optimizer.step()
    certificate = certified(net, data)
    assert certificate.claims[0].empirical < 0.6
    assert net.kl().item() != start
    assert net.double().kl().item() == pytest.approx(net.float().kl().item(), rel=1e-4)


def test_the_kl_is_the_certificates(tiny_data: Dataset) -> None:
    net = trained(arrays(tiny_data))
    certificate = certified(net, arrays(tiny_data))
    nats = float(certificate.evidence.nats) if certificate.evidence else math.nan
    grid = sum(index_cost(v.index) for v in certificate.prior.variances or ())
    assert net.double().kl().item() == pytest.approx(nats + grid, abs=0.5)
