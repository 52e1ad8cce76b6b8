"""Constants of a prior: frozen parameters, buffers, batch normalisation. They are not drawn."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from pacbound.errors import PacboundError
from pacbound.networks.initializers import prior_center
from pacbound.networks.own import Constancy, prepared, structure_digest
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.networks.values import constant_names, take_values, values_of
from pacbound.posteriors import posterior_named
from pacbound.seeds import Noise, derive


class Mixed(nn.Module):
    """Constants of all kinds: in a stochastic layer, in plain layers, in the module itself."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.read = nn.LSTM(4, 4, batch_first=True)
        self.wide = nn.Linear(4, 5)
        self.last = nn.Linear(5, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("shift", torch.arange(3.0))
        self.register_buffer("kept_out", torch.full((3,), 0.5), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        seen = self.norm(self.conv(x)).flatten(2).transpose(1, 2)
        hidden = self.wide(self.read(seen)[0][:, -1]).tanh()
        assert isinstance(self.shift, Tensor) and isinstance(self.kept_out, Tensor)
        return self.last(hidden) * self.scale + self.shift + self.kept_out  # type: ignore[no-any-return]


FROZEN = ("conv.*", "read.*", "wide.bias", "last.weight", "scale")


def mixed() -> nn.Module:
    torch.manual_seed(0)
    module = Mixed()
    with torch.no_grad():
        for value in values_of(module).values():
            value.add_(torch.rand_like(value))
    return prepared(module, Constancy(keeps_values=True, frozen=FROZEN))


def stochastic(plain: nn.Module, family: str) -> StochasticNetwork:
    center = {name: value.detach().clone() for name, value in values_of(plain).items()}
    take_values(plain, {name: torch.zeros_like(value) for name, value in center.items()})
    network = StochasticNetwork(plain, center, posterior_named(family), [0.3])
    take_values(plain, center)
    return network


@pytest.mark.parametrize("family", ["diag", "k-linear"])
def test_only_the_others_are_drawn(family: str) -> None:
    plain = mixed()
    network = stochastic(plain, family)
    drawn = network.draw_weights(Noise(derive("whole")))
    assert set(drawn) == {"wide.weight", "last.bias"}
    assert set(drawn) | constant_names(plain) == set(values_of(plain))
    assert network.parameter_count() == 4 * 5 + 3
    x = torch.randn(6, 1, 8, 8)
    network.observe(x)
    for layer in network.layers.values():
        layer.lend()  # no local noise, so that the same numbers are drawn
    expected = functional_call(plain, drawn, (x,))
    torch.testing.assert_close(network(x, Noise(derive("whole"))), expected)
    torch.testing.assert_close(network(x, None), plain(x))


def test_local_noise_has_the_law_of_whole_networks_with_a_frozen_bias() -> None:
    plain = prepared(
        nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)),
        Constancy(keeps_values=True, frozen=("0.bias", "2.bias")),
    )
    network = stochastic(plain, "k-linear")
    x, n = torch.randn(1, 3), 20_000
    network.observe(torch.randn(4, 3))
    assert network.draws_per_example()
    with torch.no_grad():
        local = network(x.expand(n, 3), Noise(derive("local")))
        source = Noise(derive("whole"))
        whole = torch.cat(
            [functional_call(plain, network.draw_weights(source), (x,)) for _ in range(2000)]
        )
    error = whole.std(0) / 2000**0.5
    assert ((local.mean(0) - whole.mean(0)).abs() < 5 * error).all()
    assert ((local.std(0) / whole.std(0) - 1).abs() < 0.1).all()


def test_constants_are_neither_trained_nor_saved_with_the_posterior() -> None:
    plain = mixed()
    network = stochastic(plain, "diag")
    assert not [name for name in network.state_dict() if "posteriors" not in name]
    assert not [name for name, _ in network.named_parameters() if "posteriors" not in name]
    twice = copy.deepcopy(network).double()
    x = torch.randn(4, 1, 8, 8)
    torch.testing.assert_close(twice(x.double(), None).float(), network(x, None))


def test_values_that_do_not_fit_are_refused() -> None:
    plain = mixed()
    with pytest.raises(PacboundError, match=r"tensor shift of shape \(4,\)"):
        take_values(plain, {"shift": torch.zeros(4)})
    with pytest.raises(PacboundError, match="tensor other"):
        take_values(plain, {"other": torch.zeros(4)})


REFUSALS = {
    "nothing left": (Constancy(True, frozen=("*",)), "nothing to train"),
    "matches nothing": (Constancy(True, frozen=("head.*",)), "matches no tensor"),
    "bare parameter": (Constancy(True), "parameter 'scale'"),
    "not declared": (Constancy(learns=True), r"scale|shift"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case: str) -> None:
    constancy, words = REFUSALS[case]
    with pytest.raises(PacboundError, match=words) as caught:
        prepared(Mixed(), constancy)
    assert "\n" not in str(caught.value)


def test_declared_buffers_pass() -> None:
    module = nn.Sequential(nn.Linear(3, 3))
    module.register_buffer("positions", torch.arange(3.0))
    with pytest.raises(PacboundError, match="constants=positions"):
        prepared(module)
    plain = prepared(module, Constancy(constants=("posit*",)))
    assert set(values_of(plain)) == {"0.weight", "0.bias", "positions"}
    other = copy.deepcopy(module)
    other.register_buffer("positions", torch.arange(4.0))
    digests = [
        structure_digest(prepared(each, Constancy(constants=("*",)))) for each in (module, other)
    ]
    assert digests[0] != digests[1]


def test_batch_normalisation_without_statistics_is_refused_everywhere() -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3, track_running_stats=False))
    for constancy in (Constancy(), Constancy(keeps_values=True), Constancy(learns=True)):
        with pytest.raises(PacboundError, match=r"other examples of the batch|statistics"):
            prepared(module, constancy)


def test_the_centre_of_attention_and_recurrence_is_scaled_by_their_inputs() -> None:
    module = nn.ModuleDict({"a": nn.MultiheadAttention(64, 4), "r": nn.LSTM(256, 16)})
    center = prior_center(module, "fan-in-uniform", 0)
    assert float(center["a.in_proj_weight"].abs().max()) == pytest.approx(1 / 8, rel=0.01)
    assert float(center["a.in_proj_bias"].abs().max()) == pytest.approx(1 / 8, rel=0.1)
    assert float(center["r.weight_ih_l0"].abs().max()) == pytest.approx(1 / 16, rel=0.01)
    assert float(center["r.bias_hh_l0"].abs().max()) == pytest.approx(1 / 4, rel=0.1)
