"""Certificates with a learned prior: what is counted, what its KL is, and what is refused."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from single_losses import errors_per_example
from torch.distributions import MultivariateNormal, kl_divergence

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.posteriors import POSTERIORS
from pacbound.predict import Predictor
from pacbound.predictors import PREDICTORS, terms
from pacbound.predictors.divergence import exact_primitives
from pacbound.predictors.drawing import draw_network
from pacbound.predictors.evidence import exact_kl
from pacbound.predictors.export import export_network, load_exported
from pacbound.predictors.issuing import Request, certify, posterior_of
from pacbound.predictors.risk import is_error
from pacbound.priors.learned import LearnedPrior
from pacbound.priors.split import split_of
from pacbound.recipes import Settings
from pacbound.training import run
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.learned_prior import learn_prior
from pacbound.training.loop import train
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.problem import build_for

NOISY = [name for name, kind in POSTERIORS.items() if kind.has_noise]

change = dataclasses.replace
REQUEST = Request(Decimal("0.035"), draws=600, weights=40, samples=40)
DRAW = Request(Decimal("0.035"), predictor="draw")


def learned_settings(settings: Settings, posterior: str = "k-linear", **changes: Any) -> Settings:
    of_flows = {"linear_epochs": 1, "flow_hidden": (6,)} if posterior == "k-nonlinear" else {}
    small: dict[str, Any] = {"prior_fraction": 0.5, "prior_epochs": 4, "prior_learning_rate": 0.02}
    small |= {"epochs": 2, "learning_rate": 0.002, "posterior": posterior}
    return change(settings, **(small | of_flows | changes))


@pytest.fixture
def trained(tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path) -> Path:
    path = tmp_path / "a.pt"
    train(learned_settings(tiny_settings), tiny_data, path)
    return path


def tampered(source: Path, target: Path, **fields: Any) -> Path:
    change(Checkpoint.load(source), **fields).save(target)
    return target


@pytest.mark.parametrize("posterior", NOISY)
def test_from_training_to_the_checker(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, posterior: str
) -> None:
    settings = learned_settings(tiny_settings, posterior, prior_fraction=0.7)
    path = tmp_path / "a.pt"
    train(settings, tiny_data, path)
    prior = Checkpoint.load(path).learned_prior
    assert prior is not None
    for predictor in PREDICTORS:
        certificate = certify(path, tiny_data, change(REQUEST, predictor=predictor))
        text = certificate.to_json()
        assert checker.verify(text.encode()).reason == ""
        assert Certificate.from_json(text) == certificate
        assert certificate.predictor == predictor
        assert certificate.data.m == 180
        assert certificate.data.sha256 == tiny_data.sha256
        assert "was learned from the other 420 examples" in certificate.sentence
        assert certificate.prior.part is not None
        assert certificate.prior.part.examples == 420
        if predictor != "fixed":
            variances = certificate.prior.variances or ()
            assert tuple(float(v.value or 0) for v in variances) == prior.variances
        assert terms(certificate)[-1].total == pytest.approx(certificate.risk_bound)
        assert (certificate.held_out is None) == predictor.startswith("vote")


def test_the_fixed_predictor_is_the_center_on_what_it_did_not_see(
    trained: Path, tiny_settings: Settings, tiny_data: Dataset
) -> None:
    settings = learned_settings(tiny_settings)
    certificate = certify(trained, tiny_data, change(REQUEST, predictor="fixed"))
    split = split_of(settings, tiny_data)
    prior = learn_prior(settings, split.learned_data(tiny_data))
    module = plain_network(settings, tiny_data.input_shape, tiny_data.classes)
    module.load_state_dict(prior.center)
    counted = split.counted_data(tiny_data)
    with torch.no_grad():
        logits = module(network_inputs(settings, counted.train_inputs))
    errors = int(is_error(logits, torch.from_numpy(counted.train_labels)).sum())
    assert (certificate.claims[0].m, certificate.claims[0].errors) == (300, errors)
    assert certificate.model.sha256 == prior.sha256
    assert certificate.model.source == "centre"
    assert certificate.prior.part is not None
    assert certificate.prior.part.sha256 == split.learned_data(tiny_data).sha256
    assert certificate.made.prior["prior_learning_rate"] == "0.02"


def test_only_a_learned_center_is_a_fixed_predictor(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    train(tiny_settings, tiny_data, tmp_path / "a.pt")
    with pytest.raises(PacboundError, match="this prior did not learn"):
        certify(tmp_path / "a.pt", tiny_data, change(REQUEST, predictor="fixed"))


def test_the_errors_of_a_draw_are_those_on_what_the_prior_did_not_see(
    trained: Path, tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    """Counted again by the exported network."""
    certificate = certify(trained, tiny_data, DRAW)
    target = tmp_path / "net.pt"
    export_network(trained, tiny_data, certificate, target)
    seen = split_of(learned_settings(tiny_settings), tiny_data).learned
    with torch.no_grad():
        logits = load_exported(target)(tiny_data.train_inputs)
    wrong = is_error(logits, torch.from_numpy(tiny_data.train_labels))
    unseen = [place for place in range(600) if place not in seen]
    assert certificate.claims[0].errors == int(wrong[unseen].sum())
    assert certificate.claims[0].errors != int(wrong.sum())
    assert certificate.risk_bound >= (certificate.claims[0].errors or 0) / 300


def test_the_gibbs_risk_is_of_what_the_prior_did_not_see(
    trained: Path, tiny_settings: Settings, tiny_data: Dataset
) -> None:
    certificate = certify(trained, tiny_data, REQUEST)
    (claim,) = certificate.claims
    settings = learned_settings(tiny_settings)
    counted = split_of(settings, tiny_data).counted_data(tiny_data)
    inputs = network_inputs(settings, counted.train_inputs)
    examples = inputs, torch.from_numpy(counted.train_labels)
    network = posterior_of(Checkpoint.load(trained), tiny_data).network
    assert certificate.seeds is not None
    assert certificate.seeds.risk is not None
    assert (claim.m, claim.draws) == (300, 600)
    assert errors_per_example(network, examples, 2, certificate.seeds.risk) == claim.errors


# KL -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("posterior", ["diag", "k-diag", "k-linear"])
def test_kl_is_zero_at_the_start(
    tiny_settings: Settings, tiny_data: Dataset, posterior: str
) -> None:
    settings = learned_settings(tiny_settings, posterior)
    prior = learn_prior(settings, split_of(settings, tiny_data).learned_data(tiny_data))
    problem = build_for(settings, tiny_data, stored=prior)
    groups = exact_primitives(problem.network, problem.center, settings.variance_groups)
    variances, kl = exact_kl(groups, problem.variances)
    d = sum(group.parameters for group in groups)
    assert 0 <= kl.nats < 1e-5 * d  # scales are logarithms in float32
    assert [v.by for v in variances] == ["given", "given"]
    assert [group.distance_sq for group in groups] == pytest.approx([0, 0], abs=1e-12)


@pytest.mark.parametrize("grouping", ["layer", "network"])
@pytest.mark.parametrize("posterior", ["diag", "k-diag", "k-linear"])
def test_kl_agrees_with_a_dense_normal(
    tiny_settings: Settings,
    tiny_data: Dataset,
    tmp_path: Path,
    posterior: str,
    grouping: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = learned_settings(
        tiny_settings, posterior, hidden=(3,), variance_groups=grouping, learning_rate=0.02
    )
    path = tmp_path / "a.pt"
    # It has moved.
    monkeypatch.setattr(run.TrainingRun, "_stay_if_better", lambda self, prior: None)
    train(settings, tiny_data, path)
    certificate = certify(path, tiny_data, REQUEST)
    learned = Checkpoint.load(path).learned_prior
    assert learned is not None
    problem = posterior_of(Checkpoint.load(path), tiny_data)
    expected = 0.0
    for position, (_, q, part) in enumerate(problem.network.double().posteriors(learned.center)):
        n = q.mean.numel()
        rows = torch.eye(n, dtype=torch.float64).reshape(n, *q.shape)
        with torch.no_grad():
            root = torch.stack([q.noise(row).flatten() for row in rows])
        dense = MultivariateNormal(q.mean.detach().flatten(), root.T @ root)
        variance = learned.variances[position if grouping == "layer" else 0]
        prior = MultivariateNormal(
            part.double().flatten(), variance * torch.eye(n, dtype=torch.float64)
        )
        expected += kl_divergence(dense, prior).item()
    assert expected > 0.01
    assert float(certificate.evidence.nats) == pytest.approx(expected, rel=1e-7, abs=2e-6)
    assert float(certificate.evidence.nats) >= expected * (1 - 1e-9)


def test_the_ratio_of_a_draw_is_that_of_the_densities(trained: Path, tiny_data: Dataset) -> None:
    certificate = certify(trained, tiny_data, DRAW)
    problem = posterior_of(Checkpoint.load(trained), tiny_data)
    assert problem.variances is not None
    groups = draw_network(problem.network, problem.center, "layer", certificate.seeds.draw).groups
    expected = sum(
        (g.distance_sq / v - g.noise_sq + g.parameters * math.log(v)) / 2 - g.log_det
        for g, v in zip(groups, problem.variances, strict=True)
    )
    assert float(certificate.evidence.nats) == pytest.approx(expected, rel=1e-9, abs=2e-6)


# What is refused ----------------------------------------------------------------------------


def test_the_prior_is_trained_again_and_compared(
    trained: Path, tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    settings = learned_settings(tiny_settings)
    replay = change(DRAW, replay_prior=True)
    assert certify(trained, tiny_data, replay).claims == certify(trained, tiny_data, DRAW).claims
    honest = Checkpoint.load(trained).learned_prior
    assert honest is not None
    center = {name: value.clone() for name, value in honest.center.items()}
    center["1.bias"][0] += 1e-6
    everything = learn_prior(settings, tiny_data)
    others = {
        "centre": change(honest, center=center),
        "variances": change(honest, variances=tuple(2 * v for v in honest.variances)),
        "everything": everything,
    }
    for name, prior in others.items():
        edited = tampered(trained, tmp_path / f"{name}.pt", stored_prior=prior)
        if name != "variances":  # which are no part of the digest
            with pytest.raises(PacboundError, match="weights do not give the prior"):
                certify(edited, tiny_data, DRAW)
        edited = tampered(edited, edited, prior_sha256=prior.sha256)
        assert certify(edited, tiny_data, DRAW)  # it takes a replay to see it
        with pytest.raises(PacboundError, match="trained again from its seed") as refusal:
            certify(edited, tiny_data, replay)
        assert "\n" not in str(refusal.value)


def test_a_prior_without_data_cannot_be_replayed(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    train(tiny_settings, tiny_data, tmp_path / "a.pt")
    with pytest.raises(PacboundError, match="did not learn from data"):
        certify(tmp_path / "a.pt", tiny_data, change(DRAW, replay_prior=True))


def test_other_data_is_refused_even_where_it_is_allowed(trained: Path, tiny_data: Dataset) -> None:
    """The examples there might be those that the prior learned from."""
    labels = tiny_data.train_labels.copy()
    labels[0] = (labels[0] + 1) % 3
    other = change(tiny_data, train_labels=labels)
    for request in (DRAW, change(DRAW, allow_other_data=True)):
        with pytest.raises(PacboundError, match="learned from a part of other data"):
            certify(trained, other, request)
    # To predict is no claim.
    assert tiny_data.test_inputs is not None
    predicted = Predictor.of(trained, other).predict(tiny_data.test_inputs[:5], samples=3)
    assert predicted.probabilities.shape == (5, 3)


@pytest.mark.parametrize("request_", [DRAW, REQUEST])
def test_the_same_data_in_another_order_has_the_same_certificate(
    trained: Path, tiny_data: Dataset, request_: Request
) -> None:
    first = certify(trained, tiny_data, request_)
    order = np.random.default_rng(0).permutation(600)
    other = certify(trained, tiny_data.part(order), request_)
    assert change(other, made=first.made) == first


def test_settings_and_prior_must_agree(
    trained: Path, tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    target, settings = tmp_path / "b.pt", learned_settings(tiny_settings)
    differ = "are of different kinds"
    with pytest.raises(PacboundError, match=differ):
        certify(tampered(trained, target, stored_prior=None), tiny_data, DRAW)
    data_free = change(settings, prior_fraction=0.0)
    with pytest.raises(PacboundError, match=differ):
        certify(tampered(trained, target, settings=data_free), tiny_data, DRAW)
    plain = tmp_path / "plain.pt"
    train(tiny_settings, tiny_data, plain)
    with pytest.raises(PacboundError, match=differ):
        certify(tampered(plain, target, settings=settings), tiny_data, DRAW)


def _wrong_name(prior: LearnedPrior) -> LearnedPrior:
    first, *rest = prior.center
    return change(prior, center={"x": prior.center[first]} | {n: prior.center[n] for n in rest})


def _wrong_shape(prior: LearnedPrior) -> LearnedPrior:
    return change(prior, center=prior.center | {"1.bias": torch.zeros(9)})


def _wrong_type(prior: LearnedPrior) -> LearnedPrior:
    return change(prior, center={name: value.double() for name, value in prior.center.items()})


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (_wrong_name, "not of the network"),
        (_wrong_shape, "not of the network"),
        (_wrong_type, "not of the network"),
        (lambda p: change(p, variances=p.variances[:1]), "one variance for each"),
        (lambda p: change(p, variances=(*p.variances, 1.0)), "one for each of 2 layers"),
        (lambda p: change(p, variances=(0.0, 1.0)), "invalid tensors or variances"),
        (lambda p: change(p, variances=(math.nan, 1.0)), "invalid tensors or variances"),
        (lambda p: change(p, variances=(1, 1.0)), "invalid tensors or variances"),
        (lambda p: change(p, variances=[1.0, 1.0]), "cannot be read"),
        (lambda p: change(p, threads=0), "0 threads"),
        (lambda p: change(p, threads=10**9), "threads"),
        (lambda p: change(p, threads=True), "cannot be read"),
        (
            lambda p: change(p, center=p.center | {"1.bias": torch.full((8,), math.inf)}),
            "invalid tensors",
        ),
    ],
)
def test_a_prior_that_does_not_fit_is_refused_in_one_line(
    trained: Path, tiny_data: Dataset, tmp_path: Path, edit: Any, words: str
) -> None:
    prior = edit(Checkpoint.load(trained).learned_prior)
    digest = prior.sha256 if "cannot" not in words else "0" * 64
    bad = tampered(trained, tmp_path / "b.pt", stored_prior=prior, prior_sha256=digest)
    with pytest.raises(PacboundError, match=words) as refusal:
        certify(bad, tiny_data, DRAW)
    assert "\n" not in str(refusal.value)


def test_the_order_of_rows_makes_no_difference(trained: Path, tiny_data: Dataset) -> None:
    order = np.random.default_rng(0).permutation(600)
    shuffled = change(
        tiny_data,
        train_inputs=tiny_data.train_inputs[order],
        train_labels=tiny_data.train_labels[order],
    )
    for request in (DRAW, REQUEST):
        first, other = (certify(trained, data, request) for data in (tiny_data, shuffled))
        assert change(other, made=first.made) == first


@pytest.mark.parametrize("fraction", [0.51, 0.25, 0.95])
def test_a_fraction_that_is_not_declared_is_refused_before_training(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, fraction: float
) -> None:
    with pytest.raises(PacboundError, match="cannot be paid for"):
        settings = learned_settings(tiny_settings, prior_fraction=fraction)
        train(settings, tiny_data, tmp_path / "a.pt")
    assert list(tmp_path.iterdir()) == []
