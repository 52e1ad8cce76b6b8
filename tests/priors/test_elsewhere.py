"""Priors from elsewhere: given weights, frozen ones, fresh ones; all examples count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pacbound
from pacbound.errors import DataError, PacboundError
from pacbound.networks.digests import tensors_digest
from pacbound.networks.initializers import prior_center
from pacbound.priors import Elsewhere, Initialised, Learned, elsewhere

M = 300


class Small(nn.Module):
    """A small residual network with batch normalisation."""

    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.block = nn.Conv2d(4, 4, 3, padding=1)
        self.head = nn.Linear(4 * 16, classes)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(self.stem(x)).relu()
        hidden = hidden + self.block(hidden).relu()
        return self.head(hidden.flatten(1))  # type: ignore[no-any-return]


Arrays = tuple[np.ndarray, np.ndarray]


def sample(seed: int) -> Arrays:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 3, M)
    images = generator.normal(size=(M, 1, 4, 4)) + labels[:, None, None, None]
    return images.astype(np.float32), labels


def pretrained(classes: int = 3) -> Small:
    torch.manual_seed(1)
    module = Small(classes)
    x, y = (torch.from_numpy(array) for array in sample(1))
    optimizer = torch.optim.Adam(module.parameters(), 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(x), y).backward()
        optimizer.step()
    return module.eval()


SMALL: dict[str, Any] = {"epochs": 2, "batch": 50, "progress": False}


def test_the_centre_is_the_given_one_and_every_example_counts(tmp_path: Path) -> None:
    module, data = pretrained(), sample(2)
    prior = elsewhere(module.state_dict(), origin="other draws", frozen=["stem.*", "block.weight"])
    net = pacbound.stochastic(Small(), "k-linear", prior)
    x = torch.from_numpy(data[0])
    torch.testing.assert_close(net.mean(x), module(x))
    net.fit(data, **SMALL)
    assert net.network is not None
    assert set(net.network.layers) == {"block", "head"}
    certificate = net.certify(data, predictor="draw")
    assert certificate.data.m == M
    assert certificate.prior.kind == "elsewhere"
    assert certificate.prior.origin == "other draws"
    values = {k: v for k, v in module.state_dict().items() if "num_batches" not in k}
    assert certificate.prior.sha256 == tensors_digest(values)
    assert certificate.model.frozen == 4 * 9 + 4 + 4 * 4 * 9 + 4 * 4
    assert certificate.model.parameters == 4 + 64 * 3 + 3
    assert "declared to be free of the counted examples (“other draws”)" in certificate.sentence
    certificate.save(tmp_path / "c.json")
    assert pacbound.verify(tmp_path / "c.json").accepted
    drawn = dict(net.draw(data).network.named_parameters())
    assert torch.equal(drawn["stem.weight"], module.stem.weight)
    assert not torch.equal(drawn["head.weight"], module.head.weight)


def test_it_is_saved_loaded_and_continued_with_its_posterior(tmp_path: Path) -> None:
    module, data = pretrained(), sample(2)
    prior = Elsewhere(origin="other draws", frozen=["stem.*"])
    net = pacbound.stochastic(module, "diag", prior).fit(data, **SMALL)
    net.save(tmp_path / "net.pt")
    bound = net.certify(data, predictor="draw").overall.bound
    loaded = pacbound.load(tmp_path / "net.pt", Small())  # with other values
    assert loaded.certify(data, predictor="draw").overall.bound == bound
    more = loaded.fit(data, **SMALL)
    assert more.certify(data, predictor="draw").prior.origin == "other draws"


def test_parameters_without_gradients_are_frozen() -> None:
    module = pretrained()
    module.stem.requires_grad_(False)
    net = pacbound.stochastic(module, "diag", Elsewhere(origin="other draws"))
    assert net.network is not None
    assert set(net.network.layers) == {"block", "head"}


def test_a_fresh_head_is_the_initialisers() -> None:
    state = pretrained(5).state_dict()
    net = pacbound.stochastic(
        Small(), "diag", Elsewhere(state, origin="other classes", fresh=["head.*"], seed=3)
    )
    made = prior_center(Small(), "fan-in-uniform", 3)
    (weights,) = net.sample(1)
    centre = dict(net._made().center)
    assert torch.equal(centre["head.weight"], made["head.weight"])
    assert torch.equal(centre["stem.weight"], state["stem.weight"])
    assert weights.network.get_parameter("head.weight").shape == (3, 64)


MISFITS: dict[str, tuple[Callable[[dict[str, Tensor]], object], str]] = {
    "another shape": (
        lambda state: state.update({"head.weight": torch.zeros(5, 64)}),
        r"head.weight has shape \(5, 64\), not \(3, 64\)",
    ),
    "missing": (lambda state: state.pop("norm.running_var"), "norm.running_var is missing"),
    "unknown": (
        lambda state: state.update({"tail.weight": torch.zeros(2)}),
        "tail.weight is not of this network",
    ),
    "nan": (
        lambda state: state.update({"stem.bias": torch.full((4,), torch.nan)}),
        "stem.bias of the prior has NaN",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_weights_that_do_not_fit_are_named(case: str) -> None:
    change, words = MISFITS[case]
    state = pretrained().state_dict()
    change(state)
    with pytest.raises(PacboundError, match=words) as caught:
        pacbound.stochastic(Small(), "diag", elsewhere(state, origin="other draws"))
    assert "\n" not in str(caught.value)


def test_declarations_that_make_no_sense() -> None:
    with pytest.raises(PacboundError, match="origin"):
        pacbound.stochastic(Small(), "diag", elsewhere())
    with pytest.raises(PacboundError, match=r"fresh 'tail\.\*' matches no tensor"):
        pacbound.stochastic(Small(), "diag", Elsewhere(origin="x", fresh=["tail.*"]))
    with pytest.raises(PacboundError, match="not both"):
        pacbound.stochastic(
            Small(), "diag", Elsewhere(origin="x"), settings={"prior_fraction": 0.5}
        )
    with pytest.raises(PacboundError, match="declare its origin"):
        pacbound.stochastic(Small(), "diag", Learned(), settings={"frozen": ["stem.*"]})


def test_variances_are_fitted_on_other_examples_and_are_free(tmp_path: Path) -> None:
    """Given variances cost no nats; examples that are counted may not fit them."""
    data, other = sample(2), sample(4)
    file = tmp_path / "other.npz"
    np.savez(file, x=other[0], y=other[1])
    prior = Elsewhere(origin="other draws", data=str(file))
    net = pacbound.stochastic(pretrained(), "diag", prior).fit(data, **SMALL)
    certificate = net.certify(data, predictor="draw")
    variances = certificate.prior.variances
    assert variances is not None
    assert {place.by for place in variances} == {"given"}
    assert certificate.bound.code < 0.2
    overlapping = tmp_path / "overlapping.npz"
    both = np.concatenate([other[0], data[0][:2]]), np.concatenate([other[1], data[1][:2]])
    np.savez(overlapping, x=both[0], y=both[1])
    with pytest.raises(DataError, match=r"2 examples of .* are among those"):
        prior = Elsewhere(origin="other draws", data=str(overlapping))
        pacbound.stochastic(pretrained(), "diag", prior).fit(data, **SMALL)


def test_constants_of_a_module_are_declared_in_the_certificate() -> None:
    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Linear(16, 3)
            self.register_buffer("mean", torch.full((16,), 0.5))

        def forward(self, x: Tensor) -> Tensor:
            return self.dense(x.flatten(1) - self.mean)  # type: ignore[no-any-return]

    data = sample(2)
    for prior in (Learned(epochs=1, constants=["mean"]), Initialised()):
        net = pacbound.stochastic(Shifted(), "diag", prior, settings={"constants": ["mean"]})
        certificate = net.fit(data, **SMALL).certify(data, predictor="draw")
        (declared,) = certificate.model.extractors
        assert declared.origin == "constants of the module: mean"
        assert declared.sha256 == tensors_digest({"mean": torch.full((16,), 0.5)})
        assert certificate.model.frozen == 16
        assert "declared to be free of the counted examples" in certificate.sentence


def test_the_prior_is_fixed_when_it_is_declared() -> None:
    """Training the module afterwards, as a baseline, must not move the prior."""
    module, data = pretrained(), sample(2)
    for state in (module.state_dict(), None):
        net = pacbound.stochastic(module, "diag", elsewhere(state, origin="other draws"))
        before = net._made().prior_sha256
        with torch.no_grad():
            module.head.weight.add_(1.0)
        net.fit(data, **SMALL)
        assert net.certify(data, predictor="draw").prior.sha256 == before


def test_examples_that_fitted_the_variances_are_never_counted(tmp_path: Path) -> None:
    data, other = sample(2), sample(4)
    file = tmp_path / "other.npz"
    np.savez(file, x=other[0], y=other[1])
    net = pacbound.stochastic(pretrained(), "diag", Elsewhere(origin="o", data=str(file)))
    net.fit(data, **SMALL)
    for attempt in (
        lambda: net.certify(other, predictor="draw", allow_other_data=True),
        lambda: net.fit(other, **SMALL),
    ):
        with pytest.raises(DataError, match=r"300 examples of .* are among those"):
            attempt()


def test_variances_are_fitted_also_without_fit(tmp_path: Path) -> None:
    data, other = sample(2), sample(4)
    file = tmp_path / "other.npz"
    np.savez(file, x=other[0], y=other[1])
    net = pacbound.stochastic(pretrained(), "diag", Elsewhere(origin="o", data=str(file)))
    with torch.no_grad():
        next(net.parameters()).add_(0.01)  # a training of one's own
    variances = net.certify(data, predictor="draw").prior.variances
    assert variances is not None
    assert {place.by for place in variances} == {"given"}


def test_counters_are_those_of_normalisations_only() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Linear(16, 3)
            self.register_buffer("num_batches_tracked", torch.tensor(4.0))

        def forward(self, x: Tensor) -> Tensor:
            return self.dense(x.flatten(1)) / self.num_batches_tracked  # type: ignore[no-any-return]

    module, data = Counting(), sample(2)
    net = pacbound.stochastic(module, "diag", elsewhere(module.state_dict(), origin="o"))
    x = torch.from_numpy(data[0])
    torch.testing.assert_close(net.mean(x), module(x))
    assert "num_batches_tracked" in net._made().center


def test_a_single_layer_has_the_names_of_its_own_state() -> None:
    layer = nn.Linear(16, 3)
    net = pacbound.stochastic(layer, "diag", elsewhere(layer.state_dict(), origin="o"))
    x = torch.randn(4, 16)
    torch.testing.assert_close(net.mean(x), layer(x))


@pytest.mark.parametrize("state", [{"a": np.zeros(3)}, [1], Small(), "weights.pt"])
def test_what_is_no_state_dict(state: Any) -> None:
    with pytest.raises(PacboundError, match="give a state dict") as caught:
        pacbound.stochastic(Small(), "diag", elsewhere(state, origin="o"))
    assert "\n" not in str(caught.value)


def test_more_declarations_that_make_no_sense() -> None:
    state = pretrained().state_dict()
    with pytest.raises(PacboundError, match="nothing comes from elsewhere"):
        pacbound.stochastic(Small(), "diag", elsewhere(state, origin="o", fresh="*"))
    with pytest.raises(PacboundError, match="origin"):
        pacbound.stochastic(Small(), "diag", elsewhere(state, origin="  "))
    with pytest.raises(PacboundError, match="name of a data set"):
        pacbound.stochastic(Small(), "diag", elsewhere(state, origin="o", data=sample(1)))
    assert Elsewhere(origin="o", frozen="stem.*").settings()["frozen"] == ["stem.*"]
    with pytest.raises(PacboundError, match="has not learned yet"):
        net = pacbound.stochastic(Small(), "diag", Learned())
        with torch.no_grad():
            next(net.parameters()).add_(0.01)
        net.certify(sample(2))


def test_a_resumed_run_keeps_its_prior(tmp_path: Path) -> None:
    data, path = sample(2), tmp_path / "net.pt"
    prior = elsewhere(pretrained().state_dict(), origin="o")
    pacbound.stochastic(Small(), "diag", prior).fit(data, checkpoint=path, **SMALL)
    state = pretrained().state_dict()
    state["head.bias"] += 1
    other = pacbound.stochastic(Small(), "diag", elsewhere(state, origin="o"))
    with pytest.raises(PacboundError, match="the prior's weights are others"):
        other.fit(data, checkpoint=path, resume=True, **(SMALL | {"epochs": 3}))
