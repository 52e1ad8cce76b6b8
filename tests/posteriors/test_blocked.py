"""Blocks of a tensor: a dense covariance is the oracle, and nothing is lost at the cuts."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

import pacbound
from pacbound.errors import PacboundError
from pacbound.networks.blocks import sizes_of
from pacbound.networks.initializers import prior_center
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import Blocked, Cut, posterior_named
from pacbound.predictors.divergence import exact_primitives
from pacbound.seeds import Noise, derive

CUTS = {
    "rows": (Cut((2, 3)), (5, 4)),
    "columns": (Cut((5,), (1, 3)), (5, 4)),
    "both": (Cut((2, 3), (1, 2, 1)), (5, 4)),
    "with a bias": (Cut((2, 3), (1, 3), extra=True), (5, 5)),
    "a kernel": (Cut((2, 1), (1, 2)), (3, 3, 2, 2)),
    "a vector": (Cut((2, 3)), (5,)),
}


@pytest.mark.parametrize("case", CUTS)
def test_blocks_are_put_together_as_they_were_cut(case: str) -> None:
    cut, shape = CUTS[case]
    tensor = torch.arange(float(math.prod(shape))).reshape(shape)
    grid = cut.split(tensor)
    assert sum(part.numel() for row in grid for part in row) == tensor.numel()
    assert torch.equal(cut.join(grid), tensor)
    several = torch.stack([tensor, -tensor])
    assert torch.equal(cut.join(cut.split(several, 1), 1), several)


def moved(network: nn.Module) -> None:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, parameter in network.named_parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
            if key.endswith("below"):
                parameter.tril_(-1)


def dense() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))


def convolution() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 2), nn.ReLU(), nn.Conv2d(4, 3, 2), nn.Flatten(), nn.Linear(12, 2)
    )


NETWORKS = {
    "dense": (dense, [(1, 2, 3)], (4,)),
    "twice": (dense, [(1, 1, 4), (2, 2, 1)], (4,)),
    "convolution": (convolution, [(1, 1, 3), (2, 2, 1)], (1, 4, 4)),
}


def blocked(case: str, family: str) -> tuple[nn.Module, dict[str, Tensor], StochasticNetwork]:
    make, blocks, _ = NETWORKS[case]
    module = make().eval()
    center = prior_center(module, "he-normal", 0, 0.0, -1.0, blocks)
    network = StochasticNetwork(module, center, posterior_named(family), [0.3], blocks, 0.1)
    moved(network)
    return module, center, network


@pytest.mark.parametrize("family", ["diag", "k-diag", "k-linear"])
@pytest.mark.parametrize("case", NETWORKS)
def test_passes_have_the_law_of_whole_networks(case: str, family: str) -> None:
    """One example at a time, with local noise or not, against networks drawn one by one."""
    from scipy.stats import ks_2samp

    module, _, network = blocked(case, family)
    x = torch.randn(1, *NETWORKS[case][2], generator=torch.Generator().manual_seed(0))
    n = 1000
    with torch.no_grad():
        means = network.weights_from(
            [q.mean for _, q, _ in network.posteriors(blocked(case, family)[1])]
        )
        torch.testing.assert_close(network(x, None), functional_call(module, means, (x,)))
        source = Noise(derive("passes"))
        passes = torch.cat([network(x, source) for _ in range(n)])
        source = Noise(derive("networks"))
        whole = torch.cat(
            [functional_call(module, network.draw_weights(source), (x,)) for _ in range(n)]
        )
    for output in range(passes.shape[1]):
        assert ks_2samp(passes[:, output].numpy(), whole[:, output].numpy()).pvalue > 1e-4
    difference = passes.T.cov() - whole.T.cov()
    assert difference.abs().max() < 8 * whole.var(0).max() / math.sqrt(n)


@pytest.mark.parametrize("family", ["diag", "k-linear"])
@pytest.mark.parametrize("case", NETWORKS)
def test_the_kl_is_that_of_dense_normals_with_a_variance_for_each_block(
    case: str, family: str
) -> None:
    _, center, network = blocked(case, family)
    groups = exact_primitives(network, center, "layer")
    assert [group.layers for group in groups] == [(name,) for name in network.scales]
    total = sum(value.numel() for value in center.values())
    assert sum(group.parameters for group in groups) == total
    for number, group in enumerate(groups):
        variance = 0.02 * (number + 1)
        d = group.parameters
        second = group.trace + group.distance_sq
        found = 0.5 * (second / variance - d + d * math.log(variance)) - group.log_det
        expected = 0.0
        for name, q, part in network.posteriors(center):
            if (name,) != group.layers:
                continue
            n = q.mean.numel()
            precise = q.double()
            at = torch.zeros(q.shape, dtype=torch.float64)
            root = torch.autograd.functional.jacobian(precise.noise, at).reshape(n, n)
            posterior = torch.distributions.MultivariateNormal(
                precise.mean.detach().flatten(), root @ root.T
            )
            prior = torch.distributions.MultivariateNormal(
                part.double().flatten(), variance * torch.eye(n, dtype=torch.float64)
            )
            expected += torch.distributions.kl_divergence(posterior, prior).item()
        assert found == pytest.approx(expected, rel=1e-6)
        assert found >= expected * (1 - 1e-12)


def test_inputs_are_cut_with_the_units_that_they_come_from() -> None:
    module = convolution()
    sizes = sizes_of(module, [(1, 1, 3), (2, 2, 1)])
    assert sizes == {"0": ((1, 3), ()), "2": ((2, 1), (1, 3)), "4": ((), (8, 4))}
    network = blocked("convolution", "diag")[2]
    assert list(network.scales) == [
        *("0[1,1]", "0[2,1]"),
        *("2[1,1]", "2[1,2]", "2[2,1]", "2[2,2]"),
        *("4[1,1]", "4[1,2]"),
    ]
    assert list(network.scales.values()) == [0.3, 0.1, 0.3, 0.1, 0.1, 0.1, 0.3, 0.1]
    kernel = network.layers["2"].posterior_of("weight")
    assert isinstance(kernel, Blocked)
    assert [tuple(q.shape) for q in kernel.parts()] == [
        (2, 1, 2, 2),
        (2, 3, 2, 2),
        (1, 1, 2, 2),
        (1, 3, 2, 2),
    ]


def test_later_units_have_their_own_bias() -> None:
    module = dense()
    plain = prior_center(module, "he-normal", 0, -2.0)
    center = prior_center(module, "he-normal", 0, -2.0, -4.0, [(1, 2, 3)])
    assert center["0.bias"].tolist() == [-2, -2, -4, -4, -4]
    assert torch.equal(center["2.bias"], plain["2.bias"])
    assert torch.equal(center["0.weight"], plain["0.weight"])


WRONG = {
    "no such layer": ([(3, 1, 2)], "no layer 3 of 2"),
    "another width": ([(1, 2, 2)], "has 5 units; the sizes .2, 2. add up to 4"),
}


@pytest.mark.parametrize("case", WRONG)
def test_blocks_that_do_not_fit(case: str) -> None:
    blocks, words = WRONG[case]
    with pytest.raises(PacboundError, match=words):
        sizes_of(dense(), blocks)


@pytest.mark.parametrize("posterior", ["diag", "k-linear", "k-nonlinear"])
def test_a_certificate_pays_for_its_blocks(posterior: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(200, 4)).astype(np.float32)
    data = x, (x[:, 0] > 0).astype(np.int64)
    settings = {"blocks": [[1, 2, 3]], "later_bias": -4, "linear_epochs": 0, "flow_hidden": [4]}
    module = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    net = pacbound.stochastic(module, posterior, settings=settings)
    net.fit(data, epochs=2, batch=50, progress=False)
    plain = pacbound.stochastic(module, posterior, settings={"linear_epochs": 0})
    plain.fit(data, epochs=1, batch=50, progress=False)
    certificates = [each.certify(data, predictor="draw") for each in (net, plain)]
    (cut, whole) = certificates
    assert cut.prior.choices is not None and cut.prior.variances is not None
    (entry,) = cut.prior.choices.blocks
    assert (entry.layer, entry.sizes) == (1, (2, 3))
    assert [place.name for place in cut.prior.variances] == ["0[1,1]", "0[2,1]", "2[1,1]", "2[1,2]"]
    assert [place.parameters for place in cut.prior.variances] == [10, 15, 6, 6]
    assert cut.bound.code > whole.bound.code  # four variances and a choice off the defaults
    cut.save(tmp_path / "c.json")
    assert pacbound.verify(tmp_path / "c.json").accepted
    network = net.draw(data)
    assert cut.overall.errors == int((network(x).argmax(1).numpy() != data[1]).sum())
    net.save(tmp_path / "net.pt")
    again = pacbound.load(tmp_path / "net.pt", module).certify(data, predictor="draw")
    assert again.overall.bound == cut.overall.bound


def test_a_wide_layer_of_many_blocks_is_read_again(tmp_path: Path) -> None:
    """Its maps have far fewer numbers than those of the whole layer would have."""
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    data = x, (x[:, 0] > 0).astype(np.int64)
    module = nn.Sequential(nn.Linear(4, 2000), nn.ReLU(), nn.Linear(2000, 2))
    settings = {"blocks": [[1, *[200] * 10]]}
    net = pacbound.stochastic(module, "k-linear", settings=settings)
    net.fit(data, epochs=1, batch=40, progress=False, checkpoint=tmp_path / "net.pt")
    again = pacbound.load(tmp_path / "net.pt", module)
    torch.testing.assert_close(again.mean(x), net.mean(x))
