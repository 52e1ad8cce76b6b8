"""The law of a user's stochastic module, against whole networks drawn one by one.

Where examples have rows of their own, once in a pass, noise is local; wherever one example meets a
weight more than once, it must be the same weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from pacbound.errors import PacboundError
from pacbound.networks.initializers import prior_center
from pacbound.networks.layers import StochasticLinear
from pacbound.networks.own import prepared
from pacbound.networks.share import Share
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import POSTERIORS, posterior_named
from pacbound.seeds import Noise, derive

FAMILIES = [name for name, q in POSTERIORS.items() if q.has_noise and q.has_exact_kl]
families = pytest.mark.parametrize("family", FAMILIES)


class Positions(nn.Module):
    """A dense layer on every position of a sequence, then one on their mean."""

    def __init__(self) -> None:
        super().__init__()
        self.each = nn.Linear(3, 4)
        self.last = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.each(x).relu().mean(1))  # type: ignore[no-any-return]


class Rows(Positions):
    """The same, with positions as rows of their own."""

    def forward(self, x: Tensor) -> Tensor:
        n, positions, size = x.shape
        hidden = self.each(x.reshape(n * positions, size)).relu()
        return self.last(hidden.reshape(n, positions, -1).mean(1))  # type: ignore[no-any-return]


class Twice(nn.Module):
    """One layer used twice in a pass."""

    def __init__(self) -> None:
        super().__init__()
        self.again = nn.Linear(3, 3)
        self.last = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.again(self.again(x[:, 0]).tanh()).tanh())  # type: ignore[no-any-return]


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(6, 3)
        self.norm = nn.LayerNorm((4, 3))
        self.last = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        indices = x.abs().sum(2).mul(7).long().remainder(6)
        return self.last(self.norm(self.table(indices)).sum(1))  # type: ignore[no-any-return]


class Volumes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2)
        self.norm = nn.InstanceNorm1d(6, affine=True)
        self.volume = nn.Conv3d(2, 4, (1, 3, 1), groups=2, bias=False)
        self.groups = nn.GroupNorm(2, 4)

    def forward(self, x: Tensor) -> Tensor:
        line = self.norm(self.line(x))  # (n, 6, 2)
        volume = self.volume(line.reshape(-1, 2, 1, 3, 2))  # (n, 4, 1, 1, 2)
        return self.groups(volume.squeeze(2).squeeze(2)).sum(1)  # type: ignore[no-any-return]


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(12, 5)
        self.last = nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.first(x.flatten(1)).relu())  # type: ignore[no-any-return]


class Recurrent(nn.Module):
    """Sequences first, states as outputs of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.read = nn.LSTM(3, 4, batch_first=True)
        self.again = nn.GRU(4, 4)
        self.last = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        outputs, _ = self.read(x)
        _, state = self.again(outputs.transpose(0, 1))
        return self.last(state[0])  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Several inputs, keyword arguments, and parts that the layer reads itself."""

    def __init__(self) -> None:
        super().__init__()
        self.grow = nn.Linear(3, 4)
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)
        self.blocks = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True),
            1,
            enable_nested_tensor=False,
        )
        self.last = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        grown = self.grow(x)
        mixed, _ = self.attend(grown, grown, grown, need_weights=False)
        return self.last(self.blocks(mixed).mean(1))  # type: ignore[no-any-return]


class Tied(nn.Module):
    """Two layers with one weight, and a bias each."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.last = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.second(self.first(x[:, 0]).tanh()).tanh()
        return self.last(hidden)  # type: ignore[no-any-return]


class Registered(nn.Module):
    """One layer under two names."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.Linear(3, 3)
        self.steps = nn.Sequential(layer, nn.Tanh(), layer, nn.Tanh())
        self.last = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.steps(x[:, 0]))  # type: ignore[no-any-return]


KINDS = (Positions, Rows, Twice, Words, Volumes, Plain, Recurrent, Attention, Tied, Registered)
MODULES: dict[str, Callable[[], nn.Module]] = {kind.__name__.lower(): kind for kind in KINDS}
LOCAL = {name: ["last"] for name in MODULES}
LOCAL |= {"volumes": [], "plain": ["first", "last"]}
IRREGULAR = ("rows", "twice", "recurrent", "attention", "registered")
modules = pytest.mark.parametrize("name", MODULES)


def fixed(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def observed(name: str, family: str = "k-linear", scale: float = 0.3) -> StochasticNetwork:
    """Every parameter moved, and the uses of layers seen."""
    module = prepared(MODULES[name]())
    center = prior_center(module, "fan-in-uniform", 0)
    network = StochasticNetwork(module, center, posterior_named(family), [scale])
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, parameter in network.named_parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
            if key.endswith("below"):
                parameter.tril_(-1)
    network.observe(fixed(7, 4, 3))
    return network


def without_local_noise(network: StochasticNetwork) -> StochasticNetwork:
    for layer in network.layers.values():
        if isinstance(layer, StochasticLinear):
            layer.local = False
    return network


@modules
def test_noise_is_local_only_where_an_example_is_one_row_once(name: str) -> None:
    network = observed(name)
    found = [
        key
        for key, layer in network.layers.items()
        if isinstance(layer, StochasticLinear) and layer.local
    ]
    assert found == LOCAL[name]
    assert network.draws_per_example() == (name == "plain")
    assert network.regular == (name not in IRREGULAR)


@modules
@families
def test_drawn_layers_give_the_numbers_of_one_whole_network(name: str, family: str) -> None:
    """All examples, positions and uses of a layer share one draw: an exact comparison."""
    network = without_local_noise(observed(name, family))
    x = fixed(7, 4, 3)
    weights = network.draw_weights(Noise(derive("whole")))
    expected = functional_call(MODULES[name](), weights, (x,))
    torch.testing.assert_close(network(x, Noise(derive("whole"))), expected)
    # Nothing of it is remembered.
    assert not torch.equal(network(x, Noise(derive("other"))), expected)
    torch.testing.assert_close(network(x, Noise(derive("whole"))), expected)


@modules
def test_the_mean_network_is_the_plain_one(name: str) -> None:
    network = observed(name)
    x = fixed(5, 4, 3)
    means = network.weights_from(
        [
            layer.posterior_of(leaf).mean
            for layer in network.layers.values()
            for leaf in layer.posteriors
        ]
    )
    torch.testing.assert_close(network(x, None), functional_call(MODULES[name](), means, (x,)))


def whole_networks(network: StochasticNetwork, n: int) -> list[dict[str, Tensor]]:
    """As `draw_weights` draws them, but all weights of a layer together, which is quicker."""
    source = Noise(derive("networks"))
    networks: list[dict[str, Tensor]] = [{} for _ in range(n)]
    for name, layer in network.layers.items():
        for weights, drawn in zip(networks, layer.draw_several(source, [True] * n), strict=True):
            weights |= {f"{name}.{leaf}": value for leaf, value in drawn.items()}
    assert networks[0].keys() == network.draw_weights(source).keys()
    return networks


@modules
@families
def test_outputs_have_the_law_of_whole_sampled_networks(name: str, family: str) -> None:
    """With the noise where it is local: one example at a time against whole networks."""
    from scipy.stats import ks_2samp

    network, plain, n = observed(name, family), MODULES[name](), 1200
    x = fixed(1, 4, 3)
    with torch.no_grad():
        source = Noise(derive("passes"))
        passes = torch.cat([network(x, source) for _ in range(n)])
        whole = torch.cat(
            [functional_call(plain, weights, (x,)) for weights in whole_networks(network, n)]
        )
    for output in range(2):
        assert ks_2samp(passes[:, output].numpy(), whole[:, output].numpy()).pvalue > 1e-4
    difference = passes.T.cov() - whole.T.cov()
    spread = whole.var(0).max()
    assert difference.abs().max() < 8 * spread / math.sqrt(n)


def test_positions_of_an_example_share_its_weights() -> None:
    """Their covariance is Σ s² x₁ x₂, by the weights' variances; local noise would have none."""
    module = prepared(nn.Sequential(nn.Linear(3, 4), nn.Flatten(), nn.Linear(8, 2)))
    center = prior_center(module, "he-normal", 0)
    network = StochasticNetwork(module, center, posterior_named("diag"), [0.5])
    x = fixed(1, 2, 3)
    network.observe(x)
    layer = network.layers["0"]
    n = 4000
    source = Noise(derive("positions"))
    outputs = []
    with torch.no_grad():
        for _ in range(n):
            layer.begin(source, 1, Share.whole(1))
            outputs.append(layer(x)[0])
    sampled = torch.stack(outputs)  # (n, positions, out)
    expected = 0.25 * (float(x[0, 0] @ x[0, 1]) + 1)  # 1 for the bias
    for unit in range(4):
        first, second = sampled[:, 0, unit].numpy(), sampled[:, 1, unit].numpy()
        error = np.std(first) * np.std(second) / math.sqrt(n)
        assert abs(np.cov(first, second)[0, 1] - expected) < 6 * error
        assert abs(expected) > 12 * error


@pytest.mark.parametrize("name", [*IRREGULAR, "positions", "words", "tied"])
@pytest.mark.parametrize("draws", [2, 3, 7])
def test_each_part_of_a_batch_sees_a_whole_network(name: str, draws: int) -> None:
    """Also where rows are not examples: a part is never cut through an example."""
    network = without_local_noise(observed(name))
    x = fixed(1, 4, 3).expand(7, 4, 3)
    parts = network(x, Noise(derive("parts")), draws).split([len(p) for p in x.chunk(draws)])
    for part in parts:
        torch.testing.assert_close(part, part[:1].expand_as(part))
    assert len({tuple(part[0].tolist()) for part in parts}) == len(parts) == draws


@families
def test_local_noise_is_independent_between_examples(family: str) -> None:
    network = observed("plain", family)
    x = fixed(1, 4, 3).expand(4000, 4, 3)
    with torch.no_grad():
        outputs = network(x, Noise(derive("independent")))
    for output in range(2):
        r = np.corrcoef(outputs[:2000, output], outputs[2000:, output])[0, 1]
        assert abs(r) < 5 / math.sqrt(2000)


class Changing(nn.Module):
    """Uses its layer otherwise for inputs that the observation did not have."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.layer(x)
        return self.layer(hidden) if x.max() > 100 else hidden  # type: ignore[no-any-return]


def test_a_use_that_was_not_observed_is_noticed() -> None:
    module = prepared(Changing())
    center = prior_center(module, "he-normal", 0)
    network = StochasticNetwork(module, center, posterior_named("diag"), [0.5])
    network.observe(fixed(4, 3))
    assert network.draws_per_example()
    network(fixed(4, 3), Noise(derive("same")))
    with pytest.raises(PacboundError, match="once, as in the probe"):
        network(fixed(4, 3) + 1000, Noise(derive("other")))
    for inputs in (fixed(4, 2, 3), fixed(3)):
        with pytest.raises(PacboundError, match="one row for each"):
            network(inputs, Noise(derive("shape")))


@families
def test_the_kl_of_every_kind_of_layer_is_that_of_dense_normals(family: str) -> None:
    """Tensors of 1, 2, 3 and 5 modes, through the certificate's own primitives."""
    from pacbound.predictors.divergence import exact_primitives

    for name in ("words", "volumes"):
        network = observed(name, family)
        module = prepared(MODULES[name]())
        center = prior_center(module, "fan-in-uniform", 0)
        variance = 0.04
        for group in exact_primitives(network, center, "layer"):
            (layer,) = group.layers
            second = group.trace + group.distance_sq
            d = group.parameters
            found = 0.5 * (second / variance - d + d * math.log(variance)) - group.log_det
            expected, count = 0.0, 0
            for own, q, part in network.posteriors(center):
                if own != layer:
                    continue
                n = q.mean.numel()
                precise = q.double()
                at = torch.zeros(q.shape, dtype=torch.float64)
                root = torch.autograd.functional.jacobian(precise.noise, at).reshape(n, n)
                dense = torch.distributions.MultivariateNormal(
                    precise.mean.detach().flatten(), root @ root.T
                )
                prior = torch.distributions.MultivariateNormal(
                    part.double().flatten(), variance * torch.eye(n, dtype=torch.float64)
                )
                expected += torch.distributions.kl_divergence(dense, prior).item()
                count += n
            assert count == d == sum(p.numel() for p in module.get_submodule(layer).parameters())
            assert found == pytest.approx(expected, rel=1e-6)
            assert found >= expected * (1 - 1e-12)
