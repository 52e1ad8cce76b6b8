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

import pacbound
from pacbound.api import StochasticModule
from pacbound.bounds.prior_grid import index_cost
from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.networks.digests import tensors_digest

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
        return self.last(self.norm(self.each(x).relu()).mean(1))  # type: ignore[no-any-return]


def trained(data: Any, module: nn.Module | None = None, **more: Any) -> StochasticModule:
    net = pacbound.stochastic(module or dense(), posterior="diag", seed=0)
    return pacbound.fit(net, data, **{**SMALL, **more})


def arrays(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    return data.train_inputs, data.train_labels


def certified(net: StochasticModule, data: Any, **options: Any) -> Certificate:
    made = pacbound.certify(net, data, **{"delta": 0.05, "weights": 60, "draws": 3000, **options})  # type: ignore[operator]
    assert isinstance(made, Certificate)
    return made


def test_the_example_of_the_readme(tiny_data: Dataset, tmp_path: Path) -> None:
    data = arrays(tiny_data)
    net = pacbound.stochastic(dense(), posterior="k-linear", seed=0)
    pacbound.fit(net, data, objective="kl-inverse", epochs=2, progress=False)
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
    from pacbound.training.checkpoints import Checkpoint

    data, module, n = arrays(tiny_data), Columns(), 500
    net = trained(data, module, epochs=20, initial_scale=0.1)
    (claim,) = certified(net, data, weights=n).claims
    assert claim.sampler == "per-weights"
    sampled = float(claim.mean)
    with net.checkpoint_file() as path:
        problem = posterior_of(Checkpoint.load(path), tiny_data, module=module)
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
        drawn = pacbound.draw(net, data)
        weights = dict(drawn.network.named_parameters())
        assert tensors_digest(weights) == certificate.evidence.weights_sha256
        wrong = int((drawn.logits(data[0]).argmax(1) != data[1]).sum())
        assert wrong <= certificate.claims[0].errors  # which counts near ties as well


def test_the_modules_values_and_mode_make_no_difference(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    first, second = dense(), dense().eval()
    with torch.no_grad():
        second[1].weight.fill_(3.0)  # type: ignore[operator, union-attr]
    one, other = (trained(data, module).checkpoint for module in (first, second))
    assert one is not None
    assert one == other


def test_seeds_of_the_prior_are_paid_for(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    net = pacbound.stochastic(dense(), posterior="diag", seed=9)
    pacbound.fit(net, data, **SMALL)
    first, tenth = (certified(each, data) for each in (trained(data, posterior="diag"), net))
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
        trained(data, trials=7)


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
    with pytest.raises(PacboundError, match="--model PACKAGE"):
        issue(path, tiny_data, request)
    other = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3))
    with pytest.raises(PacboundError, match="other layers than the settings say"):
        issue(path, tiny_data, request, module=other)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: pacbound.stochastic(nn.BatchNorm1d(3)), "BatchNorm1d"),
        (lambda d: pacbound.stochastic(dense(), posterior="diagonal"), "did you mean 'diag'"),
        (lambda d: pacbound.stochastic(dense(), initializer="he"), "initializer"),
        (lambda d: pacbound.stochastic(dense(), seed=-1), "prior_seed"),
        (lambda d: pacbound.stochastic(dense(), input_scale=1.1), "cannot be paid for"),
        (lambda d: pacbound.stochastic(dense(), epoch=3), "did you mean 'epochs'"),
        (lambda d: pacbound.stochastic(dense(), hidden=[3]), "hidden is not for a module"),
        (lambda d: pacbound.certify(pacbound.stochastic(dense()), d), "not trained yet"),
        (lambda d: trained(d, objective="kl-invers"), "did you mean 'kl-inverse'"),
        (lambda d: trained(d, nn.Linear(4, 3)), r"gives \(8, 4, 3\)"),
        (lambda d: trained((d.train_inputs, d.train_labels, d), epochs=1), "3 parts"),
        (lambda d: pacbound.certify(trained(d), d, delta=2), "delta"),
        (lambda d: pacbound.certify(trained(d), d, trial=2), "no option 'trial'"),
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
        "assert {'fit', 'stochastic', 'certify', 'verify', 'draw'} <= set(dir(pacbound))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    with pytest.raises(AttributeError, match="no attribute 'train'"):
        pacbound.train  # noqa: B018


def test_certify_is_callable_whatever_was_imported_before() -> None:
    for first in ("pass", "import pacbound.predictors.issuing"):
        code = f"{first}; import pacbound; assert callable(pacbound.certify)"
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
