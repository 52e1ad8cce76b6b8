"""Stochastic networks: the mean network, sampled networks, independence, the prior's centre."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

from pacbound.errors import BadInput
from pacbound.networks.initializers import INITIALIZERS, prior_center, tensors_digest
from pacbound.networks.input_map import ROUGHNESS, map_inputs, smooth_root
from pacbound.networks.mlp import mlp
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import POSTERIORS, posterior_named
from pacbound.seeds import Noise, derive

GAUSSIAN = [name for name in POSTERIORS if name != "k-nonlinear"]
families = pytest.mark.parametrize("family", GAUSSIAN)


def network_of(family: str, hidden: list[int], scale: float = 0.2) -> StochasticNetwork:
    module = mlp((2, 3), hidden, 4)
    return StochasticNetwork(
        module, prior_center(module, "fan-in-uniform", 0), posterior_named(family), scale
    )


@families
@pytest.mark.parametrize("hidden", [[], [5], [5, 3], [2, 7, 3]])
def test_the_mean_network_is_the_plain_one(family: str, hidden: list[int]) -> None:
    module = mlp((2, 3), hidden, 4)
    center = prior_center(module, "he-normal", 3)
    network = StochasticNetwork(module, center, posterior_named(family), 0.1)
    inputs = torch.randn(6, 2, 3)
    torch.testing.assert_close(network(inputs, None), functional_call(module, center, (inputs,)))
    assert network.parameter_count() == sum(p.numel() for p in module.parameters())


@families
def test_outputs_have_the_law_of_whole_sampled_networks(family: str) -> None:
    """Local reparameterisation against networks drawn whole, through two layers and a ReLU."""
    from scipy.stats import ks_2samp

    network = network_of(family, [5], scale=0.4)
    x = torch.randn(1, 2, 3, generator=torch.Generator().manual_seed(2))
    plain = mlp((2, 3), [5], 4)
    n = 4000
    with torch.no_grad():
        local = network(x.expand(n, 2, 3), Noise(derive("local")))
        source = Noise(derive("whole"))
        whole = torch.cat(
            [functional_call(plain, network.draw_weights(source), (x,)) for _ in range(n)]
        )
    for output in range(4):
        assert ks_2samp(local[:, output].numpy(), whole[:, output].numpy()).pvalue > 1e-3
    errors = [(z.argmax(1) == 0).double().mean() for z in (local, whole)]
    assert abs(errors[0] - errors[1]) < 5 * math.sqrt(0.5 / n)


@families
def test_examples_have_weights_of_their_own(family: str) -> None:
    """Two copies of one example in a batch must not agree more than independent draws do."""
    network = network_of(family, [5], scale=0.4)
    x = torch.randn(1, 2, 3).expand(4000, 2, 3)
    with torch.no_grad():
        outputs = network(x, Noise(derive("independence")))
    first, second = outputs[:2000], outputs[2000:]
    for output in range(4):
        r = np.corrcoef(first[:, output], second[:, output])[0, 1]
        assert abs(r) < 5 / math.sqrt(2000)


def test_noise_is_a_function_of_the_seed_alone() -> None:
    network = network_of("k-linear", [5])
    x = torch.randn(7, 2, 3)
    first, again, other = (network(x, Noise(derive("n", i))) for i in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_layers_that_are_not_dense_are_sampled_once_for_the_batch() -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(2, 3))
    network = StochasticNetwork(
        module, prior_center(module, "fan-in-uniform", 0), posterior_named("k-linear"), 0.3
    )
    x = torch.randn(1, 1, 3, 3).expand(5, 1, 3, 3)
    layer = network.layers["0"]
    layer.source = Noise(derive("convolution"))
    outputs = layer(x)
    assert torch.equal(outputs[0], outputs[4])
    assert network(x, Noise(derive("all"))).shape == (5, 3)


@pytest.mark.parametrize("initializer", INITIALIZERS)
def test_the_center_is_a_function_of_initializer_and_seed(initializer: str) -> None:
    module = mlp((28, 28), [30], 10)
    center = prior_center(module, initializer, 7)
    assert tensors_digest(center) == tensors_digest(prior_center(module, initializer, 7))
    if initializer != "zeros":
        assert tensors_digest(center) != tensors_digest(prior_center(module, initializer, 8))
    assert {k: v.shape for k, v in center.items()} == {
        k: v.shape for k, v in module.named_parameters()
    }


def test_initializers_have_their_scales() -> None:
    module = mlp((40, 40), [300], 10)
    weight = "1.weight"
    deviations = {
        "fan-in-uniform": 1 / math.sqrt(3 * 1600),
        "he-normal": math.sqrt(2 / 1600),
        "xavier-uniform": math.sqrt(2 / 1900),
        "orthogonal": 1 / math.sqrt(1600),
    }
    for name, deviation in deviations.items():
        assert prior_center(module, name, 0)[weight].std().item() == pytest.approx(
            deviation, rel=0.01
        )
    rows = prior_center(module, "orthogonal", 0)[weight].double()
    torch.testing.assert_close(
        rows @ rows.T, torch.eye(300, dtype=torch.float64), atol=1e-5, rtol=0
    )


def test_unknown_initializer_and_negative_seed() -> None:
    with pytest.raises(BadInput, match="did you mean 'he-normal'"):
        prior_center(mlp((2,), [], 2), "he-norml", 0)
    with pytest.raises(BadInput, match="prior seed"):
        prior_center(mlp((2,), [], 2), "zeros", -1)


@pytest.mark.parametrize("length", [0.5, 1.0, 3.0])
def test_the_smooth_root_squares_to_its_kernel(length: float) -> None:
    height, width = 4, 5
    places = np.array([(i, j) for i in range(height) for j in range(width)])
    distance = ((places[:, None] - places[None]) ** 2).sum(-1)
    kernel = (np.exp(-distance / (2 * length**2)) + ROUGHNESS * np.eye(20)) / (1 + ROUGHNESS)
    root = smooth_root((height, width), length)
    np.testing.assert_allclose(root @ root, kernel, atol=1e-12)
    np.testing.assert_allclose(np.diag(root @ root).mean(), 1)


def test_mapped_inputs_give_the_smooth_prior() -> None:
    """(K^½ x)·v with isotropic v has the variance of x·w with w ~ N(0, K)."""
    inputs = np.random.default_rng(0).random((3, 4, 5)).astype(np.float32)
    mapped = map_inputs(inputs, 1.5, 1.0).reshape(3, 20).double().numpy()
    root = smooth_root((4, 5), 1.0)
    flat = inputs.reshape(3, 20).astype(float)
    np.testing.assert_allclose(
        (mapped**2).sum(1), 1.5**2 * np.einsum("ni,ij,nj->n", flat, root @ root, flat), rtol=1e-5
    )
    assert torch.equal(map_inputs(inputs, 1.0, 0.0), torch.from_numpy(inputs))


def test_smoothing_needs_images() -> None:
    with pytest.raises(BadInput, match="needs images"):
        map_inputs(np.zeros((3, 5), dtype=np.float32), 1.0, 1.0)
