"""The calls of the Python interface, together: what they give and what they refuse."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import pacbound
from pacbound.api import StochasticModule
from pacbound.bounds.prior_grid import index_cost
from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.data.given import dataset_given
from pacbound.errors import (
    CheckpointError,
    DataError,
    ModuleError,
    PacboundError,
    SettingError,
)
from pacbound.networks.digests import tensors_digest
from pacbound.priors import Initialised, Learned
from pacbound.training.descent import Step
from pacbound.training.log import EpochRecord

SMALL: dict[str, Any] = {"epochs": 3, "batch": 100, "learning_rate": 0.02, "progress": False}


def dense() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))


class Columns(nn.Module):
    """Every column of an image through one dense layer, with normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.each = nn.Linear(4, 6)
        self.norm = nn.LayerNorm(6)
        self.last = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(self.norm(self.each(x).relu()).mean(1))
        return logits


def trained(data: object, module: nn.Module | None = None, **more: Any) -> StochasticModule:
    net = pacbound.stochastic(module or dense(), posterior="diag")
    return net.fit(data, **{**SMALL, **more})


def arrays(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    return data.train_inputs, data.train_labels


def certified(net: StochasticModule, data: object, **options: Any) -> Certificate:
    return net.certify(data, **{"delta": 0.05, "weights": 60, "draws": 3000, **options})


def test_the_example_of_the_readme(tiny_data: Dataset, tmp_path: Path) -> None:
    data = arrays(tiny_data)
    net = pacbound.stochastic(dense(), posterior="k-linear")
    net.fit(data, objective="kl-inverse", epochs=2, progress=False)
    certificate = certified(net, data)
    path = str(tmp_path / "certificates" / "mine.json")
    certificate.save(path)
    verdict = pacbound.verify(path)
    assert verdict.accepted, verdict.reason
    assert not pacbound.verify(path, max_risk=0.001).accepted
    record = json.loads(Path(path).read_text())
    assert record["data"]["m"] == tiny_data.m
    assert record["model"]["recipe"] == "module"
    assert record["made"]["settings"]["structure"]
    paid = record["prior"]["choices"]
    assert (record["model"]["network"], paid["widths"], paid["seed"]) == ("module", [], 0)


def test_only_modules_of_dense_layers_alone_draw_per_example(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    for module, sampler in ((dense(), "per-example"), (Columns(), "per-weights")):
        (claim,) = certified(trained(data, module), data).claims
        assert claim.sampler == sampler
        assert claim.trials == (3000 if sampler == "per-example" else 60)


def test_the_sampled_risk_is_that_of_whole_networks(tiny_data: Dataset) -> None:
    """By brute force: every network drawn whole, and judged on every example."""
    from torch.func import functional_call

    from pacbound.predictors.issuing import posterior_of
    from pacbound.predictors.risk import is_error
    from pacbound.seeds import Noise, derive

    data, module, n = arrays(tiny_data), Columns(), 500
    net = trained(data, module, epochs=20, initial_scale=0.1)
    (claim,) = certified(net, data, weights=n).claims
    assert claim.sampler == "per-weights"
    sampled = float(claim.mean)
    problem = posterior_of(net._current(tiny_data), tiny_data, module=module)
    inputs, labels = torch.from_numpy(data[0]), torch.from_numpy(data[1])
    errors = []
    with torch.no_grad():
        for k in range(n):
            weights = problem.network.draw_weights(Noise(derive("brute force", k)))
            logits = functional_call(problem.plain, weights, (inputs,))
            errors.append(float(is_error(logits, labels).double().mean()))
    assert 0.02 < sampled < 0.6
    assert abs(sampled - np.mean(errors)) < 5 * np.std(errors) * np.sqrt(2 / n) + 0.005
    assert float(claim.limit or 0) > np.mean(errors)


def test_the_drawn_network_is_the_one_that_was_certified(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    for module in (dense(), Columns(), nn.Sequential(nn.Flatten(), nn.Linear(16, 3))):
        net = trained(data, module)
        certificate = certified(net, data, predictor="draw")
        drawn = net.draw(data)
        weights = dict(drawn.network.named_parameters())
        assert tensors_digest(weights) == certificate.evidence.weights_sha256
        wrong = int((drawn(data[0]).argmax(1).numpy() != data[1]).sum())
        assert wrong <= certificate.claims[0].errors  # which counts near ties as well


def test_the_modules_values_and_mode_make_no_difference(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    first, second = dense(), dense().eval()
    with torch.no_grad():
        for value in second.parameters():
            value.fill_(3.0)
    one, other = (trained(data, module).state_dict() for module in (first, second))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_seeds_of_the_prior_are_paid_for(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    net = pacbound.stochastic(dense(), posterior="diag", prior=Initialised(seed=9))
    net.fit(data, **SMALL)
    first, tenth = (certified(each, data) for each in (trained(data), net))
    assert tenth.prior.choices is not None
    assert tenth.prior.choices.seed == 9
    grid = [sum(index_cost(v.index) for v in c.prior.variances or ()) for c in (first, tenth)]
    paid = [float(c.bound.code) - cost for c, cost in zip((first, tenth), grid, strict=True)]
    assert paid[1] > paid[0] + 2 * math.log(10)


def test_what_was_tried_is_for_the_user_to_declare(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    net = trained(data)
    assert certified(net, data).ledger.candidates == 1
    declared = certified(net, data, candidates=20, looks=2, certificates=3).ledger
    assert (declared.candidates, declared.looks, declared.certificates.number) == (20, 2, 3)
    with pytest.raises(PacboundError, match="no setting trials"):
        trained(data, settings={"trials": 7})


def test_a_network_can_be_pickled_and_certified_elsewhere(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    net = trained(data)
    again = pickle.loads(pickle.dumps(net))
    assert certified(again, data).bound == certified(net, data).bound


def test_the_checkpoint_is_for_the_command_line_too(tiny_data: Dataset, tmp_path: Path) -> None:
    from decimal import Decimal

    from pacbound.predictors.issuing import Request
    from pacbound.predictors.issuing import certify as issue

    path = tmp_path / "mine.pt"
    net = trained(tiny_data, checkpoint=str(path))
    request = Request(Decimal("0.05"), weights=60, draws=3000)
    certificate = issue(path, tiny_data, request, module=dense())
    assert certificate.bound == certified(net, tiny_data).bound
    assert "train" in certificate.made.times
    with pytest.raises(PacboundError, match="give the module"):
        issue(path, tiny_data, request)
    other = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3))
    with pytest.raises(PacboundError, match="layers differ from the settings"):
        issue(path, tiny_data, request, module=other)


def with_prior(prior: Initialised) -> StochasticModule:
    return pacbound.stochastic(dense(), prior=prior)


def with_settings(**settings: object) -> StochasticModule:
    return pacbound.stochastic(dense(), settings=settings)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: pacbound.stochastic(nn.BatchNorm1d(3)), "BatchNorm1d"),
        (lambda d: pacbound.stochastic(dense(), posterior="diagonal"), "did you mean 'diag'"),
        (lambda d: with_prior(Initialised(initializer="he")), "initializer"),
        (lambda d: with_prior(Initialised(seed=-1)), "prior_seed"),
        (lambda d: with_prior(Initialised(input_scale=1.1)), "cannot be paid for"),
        (lambda d: with_settings(epoch=3), "did you mean 'epochs'"),
        (lambda d: with_settings(hidden=[3]), "hidden is not for a module"),
        (lambda d: StochasticModule.from_recipe("mlp-600").sample(), "call fit first"),
        (lambda d: pacbound.stochastic(dense()).save("none.pt"), "no training to save"),
        (lambda d: pacbound.certify(pacbound.stochastic(dense()), d), "not trained yet"),
        (lambda d: trained(d, objective="kl-invers"), "did you mean 'kl-inverse'"),
        (lambda d: trained(d, nn.Linear(4, 3)), r"gives \(8, 4, 3\)"),
        (lambda d: trained((d.train_inputs, d.train_labels, d), epochs=1), "3 parts"),
        (lambda d: pacbound.certify(trained(d), d, delta=2), "delta"),
        (lambda d: pacbound.verify("a.json", max_risk=2), "max_risk"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    tiny_data: Dataset, call: Any, words: str
) -> None:
    with pytest.raises(PacboundError, match=words) as caught:
        call(tiny_data)
    assert "\n" not in str(caught.value)


def test_other_data_is_refused(tiny_data: Dataset) -> None:
    x, y = arrays(tiny_data)
    net = trained((x, y))
    with pytest.raises(PacboundError, match="other data"):
        certified(net, (x, np.roll(y, 1)))


def test_importing_is_fast_and_verify_needs_no_torch() -> None:
    code = (
        "import sys, pacbound; pacbound.verify('none.json'); "
        "assert not {'torch', 'numpy', 'sklearn'} & set(sys.modules); "
        "assert {'load', 'stochastic', 'certify', 'verify', 'priors'} <= set(dir(pacbound))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    with pytest.raises(AttributeError, match="no attribute 'train'"):
        pacbound.train  # noqa: B018


def test_certify_is_callable_whatever_was_imported_before() -> None:
    for first in ("pass", "import pacbound.predictors.issuing"):
        code = f"{first}; import pacbound; assert callable(pacbound.certify)"
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


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
    x = torch.from_numpy(tiny_data.train_inputs[:3])
    with torch.no_grad():
        calls = torch.stack([net(x) for _ in range(4000)])
        whole = torch.stack([drawn(x) for drawn in net.sample(4000)])
    error = 5 * whole.std(0) * (2 / 4000) ** 0.5
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


@pytest.mark.parametrize("kind", ["loader", "shuffled", "dictionaries", "batches", "dataset"])
def test_all_forms_of_data_are_the_same_data(tiny_data: Dataset, kind: str) -> None:
    x, y = torch.from_numpy(tiny_data.train_inputs), torch.from_numpy(tiny_data.train_labels)
    pairs = TensorDataset(x, y)
    named = [{"image": a.numpy(), "label": int(b)} for a, b in zip(x, y, strict=True)]
    given: dict[str, object] = {
        "loader": DataLoader(pairs, batch_size=7),
        "shuffled": DataLoader(pairs, batch_size=64, shuffle=True),
        "dictionaries": named,
        "batches": DataLoader(named, batch_size=9),
        "dataset": pairs,
    }
    assert dataset_given(given[kind]).sha256 == tiny_data.sha256


def test_data_that_would_count_wrongly_is_refused(tiny_data: Dataset) -> None:
    x, y = torch.from_numpy(tiny_data.train_inputs), torch.from_numpy(tiny_data.train_labels)
    with pytest.raises(DataError, match="drops its last batch"):
        dataset_given(DataLoader(TensorDataset(x, y), batch_size=7, drop_last=True))
    with pytest.raises(ValueError, match="name the key of the classes"):
        dataset_given([{"image": x[0], "kind": 1}])
    with pytest.raises(DataError, match="the inputs a, b"):
        dataset_given([{"a": x[0], "b": x[0], "label": 1}])
    with pytest.raises(DataError, match="empty"):
        dataset_given([])


def test_a_learned_prior_is_declared_in_python(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    net = pacbound.stochastic(dense(), "diag", Learned(fraction=0.5, epochs=3, batch=20))
    net.fit(data, epochs=1, progress=False)
    certificate = certified(net, data, predictor="draw")
    assert certificate.prior.kind == "learned"
    part = certificate.prior.part
    assert part is not None
    assert certificate.data.m == tiny_data.m - part.examples
    with pytest.raises(CheckpointError, match="prior learned from a part of other data"):
        net.fit((data[0], np.roll(data[1], 1)), progress=False)


def test_a_second_fit_goes_on_from_the_first(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    net = trained(data, epochs=5)
    once = certified(net, data).risk_bound
    net.fit(data, epochs=20, progress=False)
    assert net.settings.epochs == 25
    assert [record.epoch for record in net.history] == list(range(1, 26))
    assert certified(net, data).risk_bound < once


def test_a_finished_run_is_continued_from_its_file(tiny_data: Dataset, tmp_path: Path) -> None:
    """And stopped and resumed in between, it ends with the same weights."""
    path, other = tmp_path / "a.pt", tmp_path / "b.pt"
    for each in (path, other):
        trained(tiny_data, checkpoint=each)
    again = pacbound.stochastic(dense(), posterior="diag")
    again.fit(tiny_data, **{**SMALL, "epochs": 6}, checkpoint=path, resume=True)
    assert again.settings.earlier_epochs == 3

    def stop(record: EpochRecord) -> None:
        if record.epoch == 5:
            raise KeyboardInterrupt

    parts = pacbound.stochastic(dense(), posterior="diag")
    more: dict[str, Any] = {**SMALL, "epochs": 6, "checkpoint": other, "resume": True}
    with pytest.raises(KeyboardInterrupt):
        parts.fit(tiny_data, **more, callbacks=[pacbound.Callback(on_epoch=stop)])
    parts.fit(tiny_data, **more)
    one, two = again.state_dict(), parts.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    with pytest.raises(SettingError, match="give more to continue it"):
        parts.fit(tiny_data, **{**more, "epochs": 2})


def test_the_users_own_optimiser_and_callbacks(tiny_data: Dataset, tmp_path: Path) -> None:
    steps: list[Step] = []
    path = tmp_path / "sgd.pt"
    made: dict[str, Any] = {
        **SMALL,
        "optimizer": lambda parameters: torch.optim.SGD(parameters, lr=0.3, momentum=0.9),
        "callbacks": [pacbound.Callback(on_step=steps.append)],
    }
    whole = pacbound.stochastic(dense(), posterior="diag").fit(tiny_data, **made)
    assert steps[0].bound is None
    assert whole.history[0].learning_rate == pytest.approx(0.3, rel=0.3)

    def stop(record: EpochRecord) -> None:
        raise KeyboardInterrupt

    parts = pacbound.stochastic(dense(), posterior="diag")
    with pytest.raises(KeyboardInterrupt):
        stopping = [pacbound.Callback(on_epoch=stop)]
        parts.fit(tiny_data, **{**made, "callbacks": stopping}, checkpoint=path)
    parts.fit(tiny_data, **made, checkpoint=path, resume=True)
    one, two = whole.state_dict(), parts.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_saving_and_loading(tiny_data: Dataset, tmp_path: Path) -> None:
    net = trained(tiny_data)
    net.save(tmp_path / "mine.pt")
    again = pacbound.load(tmp_path / "mine.pt", dense())
    assert certified(again, tiny_data).bound == certified(net, tiny_data).bound
    with pytest.raises(ModuleError, match="give the module"):
        pacbound.load(tmp_path / "mine.pt")


def test_a_recipes_network_in_python(tiny_data: Dataset) -> None:
    net = StochasticModule.from_recipe("mlp-30", {"epochs": 1, "smoothing": 0.0})
    net.fit(tiny_data, progress=False)
    assert net(tiny_data.train_inputs[:4]).shape == (4, 3)
    assert certified(net, tiny_data).model.recipe == "mlp-30"


def test_nothing_is_written_without_being_asked_for(
    tiny_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.mkdtemp", None)
    monkeypatch.setattr("tempfile.mkstemp", None)
    net = pacbound.stochastic(dense(), "diag", Learned(epochs=1)).fit(tiny_data, **SMALL)
    certified(net, tiny_data)
    net.draw(tiny_data)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("predictor", ["gibbs", "draw", "vote-gibbs"])
def test_the_predictor_that_a_certificate_covers(tiny_data: Dataset, predictor: str) -> None:
    data = arrays(tiny_data)
    net = trained(data, epochs=20)
    certificate = certified(net, data, predictor=predictor)
    applied = net.predict(tiny_data.train_inputs, certificate)
    wrong = (applied.classes != tiny_data.train_labels).mean()
    assert wrong < float(certificate.risk_bound)
    assert "certificate" in applied.words()
    if predictor == "draw":
        assert (applied.classes == net.draw(data)(data[0]).argmax(1).numpy()).all()
    other = trained(data, epochs=2)
    with pytest.raises(CheckpointError, match="another network"):
        other.predict(tiny_data.train_inputs, certificate)


@pytest.mark.parametrize(
    ("name", "value"), [("split_seed", 1), ("prior_fraction", 0.7), ("prior_epochs", 9)]
)
def test_a_learned_prior_keeps_the_split_that_it_learned_from(
    tiny_data: Dataset, name: str, value: object
) -> None:
    """Under another split, examples that it learned from would be counted."""
    net = pacbound.stochastic(dense(), "diag", Learned(epochs=2)).fit(tiny_data, **SMALL)
    with pytest.raises(SettingError, match=f"already made with other settings .{name}"):
        net.fit(tiny_data, **SMALL, settings={name: value})
    net.fit(tiny_data, **SMALL)
    assert certified(net, tiny_data, predictor="draw").data.m == tiny_data.m // 2
