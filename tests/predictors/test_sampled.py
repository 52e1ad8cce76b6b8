"""Certificates of posteriors whose KL is sampled, and of layers that share their weights."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import torch
from single_losses import errors_per_example, errors_per_weights
from warm_python import WarmPython, forked_workers

from pacbound.bounds.gaussian_tail import second_moment_limit
from pacbound.certificate import checker
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.flows import certified_norm
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.predictors.chunks import Sampler
from pacbound.predictors.divergence import exact_primitives, sampled_primitives
from pacbound.predictors.issuing import Request, certify, posterior_of
from pacbound.recipes import Settings, recipe
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train
from pacbound.training.problem import build_for
from pacbound.workers.local import LocalProcesses

change = dataclasses.replace
REQUEST = Request(Decimal("0.035"), draws=3000, weights=300, samples=200)


def nonlinear(settings: Settings, **changes: object) -> Settings:
    return change(
        settings,
        posterior="k-nonlinear",
        linear_epochs=2,
        flow_hidden=(6,),
        flow_learning_rate=0.02,
        **changes,
    )


def stirred(settings: Settings, data: Dataset, size: float = 0.2) -> tuple[StochasticNetwork, dict]:
    """A network with every parameter moved."""
    problem = build_for(settings, data)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in problem.network.named_parameters():
            parameter.add_(size * torch.randn(parameter.shape, generator=generator))
            if name.endswith("below"):
                parameter.tril_(-1)
    return problem.network, problem.center


@pytest.fixture(scope="module")
def three_processes(warm_python: WarmPython) -> Iterator[LocalProcesses]:
    """Kept for all tests."""
    with forked_workers(warm_python), LocalProcesses(3, here=0.0) as engine:
        yield engine


@pytest.mark.parametrize("flow", ["iaf", "realnvp"])
@pytest.mark.parametrize("grouping", ["layer", "network"])
def test_k_nonlinear_from_training_to_verdict(
    tiny_settings: Settings,
    tiny_data: Dataset,
    tmp_path: Path,
    three_processes: LocalProcesses,
    flow: str,
    grouping: str,
) -> None:
    settings = nonlinear(tiny_settings, flow=flow, variance_groups=grouping, epochs=4)
    path = tmp_path / "a.pt"
    train(settings, tiny_data, path)
    certificate = certify(path, tiny_data, REQUEST)
    assert checker.verify(certificate.to_json().encode()).accepted
    evidence = certificate.evidence
    assert evidence is not None
    assert (evidence.kind, evidence.samples) == ("monte-carlo", 200)
    assert (certificate.claims[0].sampler, certificate.claims[0].trials) == ("per-weights", 300)
    assert len(evidence.groups) == len(certificate.prior.variances or ())
    (theorem3,) = [entry.nats for entry in certificate.also if entry.kind == "theorem3"]
    assert theorem3 is not None
    assert evidence.nats < theorem3
    paper = certify(path, tiny_data, change(REQUEST, tail="theorem3", limit="chernoff"))
    assert paper.evidence is not None
    assert [entry.nats for entry in paper.also][-1] == paper.evidence.nats
    assert paper.risk_bound > certificate.risk_bound
    assert paper.seeds == certificate.seeds
    more = certify(path, tiny_data, REQUEST, Sampler(three_processes))
    assert change(more, made=certificate.made) == certificate


def test_the_settings_decide_how_training_goes_on_after_a_kill(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    settings = nonlinear(tiny_settings, epochs=3)
    whole = train(settings, tiny_data, tmp_path / "whole.pt")

    class Stopped(Exception):
        pass

    def stop(record: object) -> None:
        raise Stopped

    for _ in range(4):
        resume = (tmp_path / "parts.pt").exists()
        with pytest.raises(Stopped):
            train(settings, tiny_data, tmp_path / "parts.pt", resume, on_epoch=stop)
    parts = train(settings, tiny_data, tmp_path / "parts.pt", resume=True)
    assert all(torch.equal(whole.posterior[k], parts.posterior[k]) for k in whole.posterior)


def test_sampled_moments_are_those_of_the_law(tiny_settings: Settings, tiny_data: Dataset) -> None:
    """Without nonlinear parts K-Nonlinear is K-Linear, whose moments are exact."""
    settings = nonlinear(tiny_settings)
    network, center = stirred(settings, tiny_data)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if ".flows." in name:
                parameter.zero_()
    sampled = sampled_primitives(network, center, "layer", 2000, "ab" * 32)
    network.activate(nonlinear=False)
    exact = exact_primitives(network, center, "layer")
    for a, b in zip(sampled, exact, strict=True):
        truth = b.trace + b.distance_sq
        assert abs(a.mean_square - truth) < 5 * truth * math.sqrt(2 / 2000)
        assert a.log_det == b.log_det
        assert a.offset == pytest.approx(math.sqrt(b.distance_sq), rel=1e-9)
        assert second_moment_limit(a.mean_square, a.lipschitz, 2000, 0.01) > truth


def test_the_constant_is_certified_and_not_estimated(
    tiny_settings: Settings, tiny_data: Dataset
) -> None:
    network, center = stirred(nonlinear(tiny_settings), tiny_data, size=0.5)
    precise = network.double()
    groups = sampled_primitives(network, center, "layer", 1, "ab" * 32)
    for group, (_, q, _) in zip(groups, precise.posteriors(center), strict=True):
        assert group.lipschitz == q.lipschitz(certified_norm)
        at = torch.randn(q.shape, dtype=torch.float64)
        jacobian = torch.autograd.functional.jacobian(q.noise, at).reshape(at.numel(), -1)
        slope = torch.linalg.matrix_norm(jacobian, 2).item()
        assert slope <= group.lipschitz


def test_the_limit_of_the_kl_holds_as_often_as_it_says(
    tiny_settings: Settings,
    tiny_data: Dataset,
    record_property: Callable[[str, object], None],
) -> None:
    """1000 limits of E‖W − Θ0‖² from 5 samples each against the mean of 100 000."""
    network, center = stirred(nonlinear(tiny_settings, hidden=()), tiny_data, size=0.3)
    ((_, q, part),) = network.double().posteriors(center)
    constant = q.lipschitz(certified_norm)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        draws = torch.randn(105_000, *q.shape, generator=generator, dtype=torch.float64)
        samples = torch.cat([q.sample(some) for some in draws.split(5000)])
        for e, sample in zip(draws[:20], samples[:20], strict=True):
            torch.testing.assert_close(sample, q.sample(e))
        squares = (samples - part).square().flatten(1).sum(1)
    truth = squares[5000:].mean()
    delta = 0.2
    limits = torch.stack(
        [
            second_moment_limit(f, constant, 5, delta)
            for f in squares[:5000].reshape(1000, 5).mean(1)
        ]
    )
    violated = int((limits < truth).sum())
    record_property("measured", f"KL: {violated} of 1000 sampled limits at δ = {delta} violated")
    assert violated <= delta * 1000


def test_shared_weights_are_not_counted_as_independent(
    tiny_settings: Settings, tiny_data: Dataset
) -> None:
    network, _ = stirred(nonlinear(tiny_settings), tiny_data)
    with pytest.raises(ValueError, match="shares its weights"):
        errors_per_example(
            network, (torch.zeros(4, 4, 4), torch.zeros(4, dtype=torch.int64)), 1, "ab" * 32
        )


def test_both_samplers_estimate_the_same_risk(tiny_settings: Settings, tiny_data: Dataset) -> None:
    settings = change(tiny_settings, posterior="k-linear")
    network, _ = stirred(settings, tiny_data, size=0.1)
    examples = torch.from_numpy(tiny_data.train_inputs), torch.from_numpy(tiny_data.train_labels)
    each = errors_per_example(network, examples, 40, "ab" * 32) / (40 * tiny_data.m)
    counts, (wrong, tested) = errors_per_weights(network, examples, examples, 500, 50, "cd" * 32)
    assert sum(times for _, times in counts) == tested == 500
    mean = sum(errors * times for errors, times in counts) / (500 * 50)
    assert abs(wrong / 500 - each) < 5 * math.sqrt(0.25 / 500)
    assert abs(each - mean) < 5 * math.sqrt(0.25 / 20_000)


@pytest.fixture(scope="module")
def images() -> Dataset:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 120)
    inputs = generator.random((120, 16, 16)) * 0.3
    for k, label in enumerate(labels):
        inputs[k, 5 * label : 5 * label + 5] += 0.7
    return Dataset("stripes", inputs.astype(np.float32), labels, None, None, 3)


@pytest.mark.parametrize("posterior", ["diag", "k-diag", "k-linear", "k-nonlinear"])
def test_lenet_with_every_posterior(images: Dataset, tmp_path: Path, posterior: str) -> None:
    overrides = {"posterior": posterior, "epochs": 1, "batch": 60, "flow_hidden": [4]}
    settings = recipe("lenet-5", {**overrides, "linear_epochs": int(posterior == "k-nonlinear")})
    path = tmp_path / "a.pt"
    train(settings, images, path)
    few = Request(Decimal("0.035"), weights=20, samples=10)
    certificate = certify(path, images, few)
    assert checker.verify(certificate.to_json().encode()).accepted
    assert certificate.claims[0].sampler == "per-weights"
    kind = "monte-carlo" if posterior == "k-nonlinear" else "exact"
    assert certificate.evidence.kind == kind
    problem = posterior_of(Checkpoint.load(path), images)
    assert certificate.model.parameters == problem.network.parameter_count()
    assert certificate.model.parameters == 520 + 25_050 + (50 + 1) * 500 + 501 * 3


def test_an_mlp_of_gaussians_draws_per_example(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "a.pt"
    train(tiny_settings, tiny_data, path)
    assert certify(path, tiny_data, REQUEST).claims[0].sampler == "per-example"


def test_names_are_checked() -> None:
    with pytest.raises(PacboundError, match="did you mean 'gaussian'"):
        Request(Decimal("0.1"), tail="gausian")
    with pytest.raises(PacboundError, match="did you mean 'betting'"):
        Request(Decimal("0.1"), limit="beting")
