"""`certify` of a stochastic module: what it certifies, and what is paid for."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from own_modules import SMALL, Columns, arrays, certified, dense, trained
from torch import nn
from warm_python import WarmPython

import pacbound
from pacbound.bounds.prior_grid import index_cost
from pacbound.data import Dataset
from pacbound.errors import (
    CheckpointError,
    PacboundError,
)
from pacbound.networks.digests import tensors_digest
from pacbound.priors import Initialised


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


def test_other_data_is_refused(tiny_data: Dataset) -> None:
    x, y = arrays(tiny_data)
    net = trained((x, y))
    with pytest.raises(PacboundError, match="other data"):
        certified(net, (x, np.roll(y, 1)))


def test_a_network_of_an_own_training_loop_predicts_by_its_certificate(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    net = pacbound.stochastic(dense(), posterior="diag")
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 0.01
    with pytest.raises(PacboundError, match="call fit or certify first"):
        net.predict(tiny_data.train_inputs, certified(trained(data), data, predictor="draw"))
    certificate = certified(net, data, predictor="draw")
    applied = net.predict(tiny_data.train_inputs, certificate)
    wrong = (applied.classes != tiny_data.train_labels).sum()
    assert wrong == certificate.claims[0].errors


def test_certify_is_callable_whatever_was_imported_before(
    tmp_path: Path, warm_python: WarmPython
) -> None:
    for first in ("pass", "import pacbound.predictors.issuing"):
        code = f"{first}; import pacbound; assert callable(pacbound.certify)"
        (tmp_path / "calls.py").write_text(code)
        done = warm_python.run([sys.executable, tmp_path / "calls.py"])
        assert done.returncode == 0, done.stderr


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
