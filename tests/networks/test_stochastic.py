"""Stochastic networks: the mean network, sampled networks, independence, the prior's centre."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from pacbound.errors import PacboundError
from pacbound.networks.digests import tensors_digest
from pacbound.networks.initializers import INITIALIZERS, prior_center
from pacbound.networks.input_map import ROUGHNESS, map_inputs, smooth_root
from pacbound.networks.lenet import lenet
from pacbound.networks.mlp import mlp
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import POSTERIORS, posterior_named
from pacbound.seeds import Noise, derive

GAUSSIAN = [name for name, q in POSTERIORS.items() if q.has_noise and q.has_exact_kl]
families = pytest.mark.parametrize("family", GAUSSIAN)


def network_of(family: str, hidden: list[int], scale: float = 0.2) -> StochasticNetwork:
    module = mlp((2, 3), hidden, 4)
    return StochasticNetwork(
        module, prior_center(module, "fan-in-uniform", 0), posterior_named(family), [scale]
    )


@families
@pytest.mark.parametrize("hidden", [[], [5], [5, 3], [2, 7, 3]])
def test_the_mean_network_is_the_plain_one(family: str, hidden: list[int]) -> None:
    module = mlp((2, 3), hidden, 4)
    center = prior_center(module, "he-normal", 3)
    network = StochasticNetwork(module, center, posterior_named(family), [0.1])
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
        module, prior_center(module, "fan-in-uniform", 0), posterior_named("k-linear"), [0.3]
    )
    x = torch.randn(1, 1, 3, 3).expand(5, 1, 3, 3)
    layer = network.layers["0"]
    layer.begin(Noise(derive("convolution")), 1, 5)
    outputs = layer(x)
    assert torch.equal(outputs[0], outputs[4])
    assert network(x, Noise(derive("all"))).shape == (5, 3)


def fixed(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def nonlinear_network(hidden: list[int]) -> StochasticNetwork:
    """Every layer shares its weights among examples, and every parameter has been moved."""
    module = mlp((2, 3), hidden, 4)
    family = posterior_named("k-nonlinear", kind="iaf", hidden=[6], steps=1, seed="0")
    network = StochasticNetwork(module, prior_center(module, "fan-in-uniform", 0), family, [0.3])
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
            if name.endswith("below"):
                parameter.tril_(-1)
    return network


def replayed(network: StochasticNetwork, source: Noise, parts: int) -> list[dict[str, Tensor]]:
    """The weights of every part: a layer draws for all the parts before the next layer does."""
    weights: list[dict[str, Tensor]] = [{} for _ in range(parts)]
    for name, layer in network.layers.items():
        for part in weights:
            part |= {f"{name}.{leaf}": value for leaf, value in layer.draw(source).items()}
    return weights


@pytest.mark.parametrize("hidden", [[], [5], [5, 3]])
@pytest.mark.parametrize("draws", [1, 2, 3, 7])
def test_each_part_of_a_batch_sees_a_network_of_its_own(hidden: list[int], draws: int) -> None:
    network, plain = nonlinear_network(hidden), mlp((2, 3), hidden, 4)
    x = fixed(7, 2, 3)
    outputs = network(x, Noise(derive("parts")), draws)
    parts = x.chunk(draws)
    assert len(parts) == draws
    weights = replayed(network, Noise(derive("parts")), draws)
    expected = [functional_call(plain, w, (p,)) for w, p in zip(weights, parts, strict=True)]
    torch.testing.assert_close(outputs, torch.cat(expected))


def test_one_draw_is_one_whole_network() -> None:
    network, x = nonlinear_network([5]), fixed(7, 2, 3)
    weights = network.draw_weights(Noise(derive("whole")))
    expected = functional_call(mlp((2, 3), [5], 4), weights, (x,))
    torch.testing.assert_close(network(x, Noise(derive("whole"))), expected)


def test_the_draws_of_the_parts_differ() -> None:
    network = nonlinear_network([5])
    outputs = network(fixed(1, 2, 3).expand(12, 2, 3), Noise(derive("differ")), 4)
    parts = outputs.reshape(4, 3, 4)
    torch.testing.assert_close(parts, parts[:, :1].expand(4, 3, 4))  # within a part they agree
    assert len({tuple(row) for row in parts[:, 0].tolist()}) == 4


@pytest.mark.parametrize("draws", [5, 6, 1000])
def test_more_draws_than_examples_are_one_for_each(draws: int) -> None:
    network, x = nonlinear_network([5]), fixed(1, 2, 3).expand(5, 2, 3)
    outputs = network(x, Noise(derive("many")), draws)
    assert torch.equal(outputs, network(x, Noise(derive("many")), 5))
    assert len({tuple(row) for row in outputs.tolist()}) == 5


def test_the_number_of_draws_is_not_remembered() -> None:
    """Certification asks for one draw at a time after training asked for several."""
    network, x = nonlinear_network([5]), fixed(1, 2, 3).expand(6, 2, 3)
    before = network(x, Noise(derive("once")))
    network(x, Noise(derive("many")), 3)
    assert torch.equal(network(x, Noise(derive("once"))), before)


@families
def test_draws_change_nothing_without_noise_and_where_noise_is_local(family: str) -> None:
    network, x = network_of(family, [5]), fixed(7, 2, 3)
    assert torch.equal(network(x, None, 3), network(x, None))
    assert torch.equal(network(x, Noise(derive("n")), 3), network(x, Noise(derive("n"))))


def test_gradients_flow_through_every_draw() -> None:
    network, plain = nonlinear_network([5]).double(), mlp((2, 3), [5], 4)
    x = fixed(6, 2, 3).double()
    network(x, Noise(derive("gradient")), 3).square().sum().backward()
    found = {name: parameter.grad for name, parameter in network.named_parameters()}
    network.zero_grad()
    weights = replayed(network, Noise(derive("gradient")), 3)
    parts = zip(weights, x.chunk(3), strict=True)
    sum(functional_call(plain, w, (p,)).square().sum() for w, p in parts).backward()
    for name, parameter in network.named_parameters():
        assert found[name] is not None, name
        assert found[name].abs().max() > 0, name
        torch.testing.assert_close(found[name], parameter.grad)


def stochastic_convolutions(family: str, colours: int) -> tuple[nn.Module, StochasticNetwork]:
    module = nn.Sequential(nn.Conv2d(colours, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 2, bias=False))
    center = prior_center(module, "he-normal", 1)
    return module, StochasticNetwork(module, center, posterior_named(family), [0.2])


@families
@pytest.mark.parametrize("colours", [1, 3])
def test_convolutions_give_the_numbers_of_plain_ones(family: str, colours: int) -> None:
    module, network = stochastic_convolutions(family, colours)
    x = fixed(6, colours, 9, 8)
    weights = network.draw_weights(Noise(derive("kernels")))
    expected = functional_call(module, weights, (x,))
    torch.testing.assert_close(network(x, Noise(derive("kernels"))), expected)
    in_parts = network(x, Noise(derive("kernels")), 3)
    drawn = replayed(network, Noise(derive("kernels")), 3)
    parts = zip(drawn, x.chunk(3), strict=True)
    torch.testing.assert_close(
        in_parts, torch.cat([functional_call(module, w, (p,)) for w, p in parts])
    )


def test_gradients_of_convolutions_are_those_of_plain_ones() -> None:
    module, network = stochastic_convolutions("diag", 2)
    network = network.double()
    x = fixed(6, 2, 9, 8).double()
    gradients = []
    for outputs in (
        network(x, Noise(derive("kernels"))),
        functional_call(module, network.draw_weights(Noise(derive("kernels"))), (x,)),
    ):
        network.zero_grad()
        outputs.square().sum().backward()
        gradients.append([parameter.grad for parameter in network.parameters()])
    torch.testing.assert_close(*gradients)


@families
def test_layers_start_with_their_scales(family: str) -> None:
    module = lenet((16, 16), [2, 3, 4], 5)
    center = prior_center(module, "fan-in-uniform", 0)
    scales = [0.1, 0.03, 0.05, 0.2]
    each = StochasticNetwork(module, center, posterior_named(family), scales)
    found = {
        layer: math.sqrt(q.trace().item() / q.mean.numel())
        for layer, q, _ in each.posteriors(center)
    }
    assert list(found.values()) == pytest.approx(scales)
    same = StochasticNetwork(module, center, posterior_named(family), [0.07])
    for _, q, _ in same.posteriors(center):
        assert math.sqrt(q.trace().item() / q.mean.numel()) == pytest.approx(0.07)


@pytest.mark.parametrize("scales", [[], [0.1, 0.2], [0.1] * 4])
def test_scales_for_another_number_of_layers_are_refused_in_one_line(scales: list[float]) -> None:
    module = mlp((2, 3), [5, 3], 4)
    center = prior_center(module, "zeros", 0)
    with pytest.raises(PacboundError, match="one for each of 3 layers") as caught:
        StochasticNetwork(module, center, posterior_named("diag"), scales)
    assert "\n" not in str(caught.value)


def moved_by_the_bias(module: nn.Module, initializer: str, hidden_bias: float) -> dict[str, Tensor]:
    before = prior_center(module, initializer, 3)
    after = prior_center(module, initializer, 3, hidden_bias)
    return {name: after[name] - before[name] for name in before}


@pytest.mark.parametrize("initializer", INITIALIZERS)
@pytest.mark.parametrize(
    ("module", "hidden"),
    [
        (mlp((2, 3), [], 4), []),
        (mlp((2, 3), [5], 4), ["1.bias"]),
        (mlp((2, 3), [5, 6], 4), ["1.bias", "3.bias"]),
        (lenet((16, 16), [2, 3, 4], 5), ["8.bias"]),
    ],
    ids=["linear", "one", "two", "lenet"],
)
def test_the_hidden_bias_is_added_in_hidden_dense_layers_alone(
    module: nn.Module, hidden: list[str], initializer: str
) -> None:
    """Not in the last layer, not in convolutions, and not to weights."""
    for name, difference in moved_by_the_bias(module, initializer, -4.0).items():
        expected = torch.full_like(difference, -4.0 if name in hidden else 0.0)
        torch.testing.assert_close(difference, expected, atol=1e-6, rtol=0)


def test_the_hidden_bias_changes_the_digest() -> None:
    module = mlp((2, 3), [5], 4)
    digests = {tensors_digest(prior_center(module, "zeros", 0, b)) for b in (0.0, -1.0, -4.0)}
    assert len(digests) == 3
    assert tensors_digest(prior_center(module, "zeros", 0)) in digests


def test_units_with_a_hidden_bias_are_silent_under_the_prior() -> None:
    module = mlp((2, 3), [50], 4)
    center = prior_center(module, "fan-in-uniform", 0, -4.0)
    x = torch.rand(100, 2, 3)
    hidden = functional_call(module[:3], {k: center[k] for k in ("1.weight", "1.bias")}, (x,))
    assert not hidden.any()


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
    with pytest.raises(PacboundError, match="did you mean 'he-normal'"):
        prior_center(mlp((2,), [], 2), "he-norml", 0)
    with pytest.raises(PacboundError, match="prior seed"):
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
    with pytest.raises(PacboundError, match="needs images"):
        map_inputs(np.zeros((3, 5), dtype=np.float32), 1.0, 1.0)
