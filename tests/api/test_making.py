"""Where stochastic networks come from: modules, recipes, files; and what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from own_modules import arrays, certified, dense, trained
from torch import nn

import pacbound
from pacbound.api import StochasticModule
from pacbound.data import Dataset
from pacbound.errors import (
    ModuleError,
    PacboundError,
)
from pacbound.priors import Initialised


def with_prior(prior: Initialised) -> StochasticModule:
    return pacbound.stochastic(dense(), prior=prior)


def with_settings(**settings: object) -> StochasticModule:
    return pacbound.stochastic(dense(), settings=settings)


def test_the_modules_values_and_mode_make_no_difference(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    first, second = dense(), dense().eval()
    with torch.no_grad():
        for value in second.parameters():
            value.fill_(3.0)
    one, other = (trained(data, module).state_dict() for module in (first, second))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_recipes_network_in_python(tiny_data: Dataset) -> None:
    net = StochasticModule.from_recipe("mlp-30", {"epochs": 1, "smoothing": 0.0})
    net.fit(tiny_data, progress=False)
    assert net(tiny_data.train_inputs[:4]).shape == (4, 3)
    assert certified(net, tiny_data).model.recipe == "mlp-30"


def test_saving_and_loading(tiny_data: Dataset, tmp_path: Path) -> None:
    net = trained(tiny_data)
    net.save(tmp_path / "mine.pt")
    again = pacbound.load(tmp_path / "mine.pt", dense())
    assert certified(again, tiny_data).bound == certified(net, tiny_data).bound
    with pytest.raises(ModuleError, match="give the module"):
        pacbound.load(tmp_path / "mine.pt")


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


def test_a_network_can_be_pickled_and_certified_elsewhere(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    net = trained(data)
    again = pickle.loads(pickle.dumps(net))
    assert certified(again, data).bound == certified(net, data).bound


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
        (lambda d: pacbound.certify(trained(d), d, draws=0), "draws must be a whole number"),
        (lambda d: pacbound.certify(trained(d), d, weights=-1), "weights must be a whole number"),
        (lambda d: pacbound.certify(trained(d), d, samples=1.5), "samples must be a whole number"),
        (lambda d: pacbound.certify(trained(d), d, predictor="fixed"), '^predictor="fixed" '),
        (lambda d: trained(d).predict_proba(d.train_inputs, samples=0), "samples must be"),
        (lambda d: pacbound.stochastic(nn.Linear(4, 3))(torch.zeros(2, 5)), r"of 4 inputs .*2, 5"),
        (lambda d: pacbound.verify("a.json", max_risk=2), "max_risk"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    tiny_data: Dataset, call: Any, words: str
) -> None:
    with pytest.raises(PacboundError, match=words) as caught:
        call(tiny_data)
    assert "\n" not in str(caught.value)


def test_importing_is_fast_and_verify_needs_no_torch() -> None:
    code = (
        "import sys, pacbound; pacbound.verify('none.json'); "
        "assert not {'torch', 'numpy', 'sklearn'} & set(sys.modules); "
        "assert {'load', 'stochastic', 'certify', 'verify', 'priors'} <= set(dir(pacbound))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    with pytest.raises(AttributeError, match="no attribute 'train'"):
        pacbound.train  # noqa: B018
