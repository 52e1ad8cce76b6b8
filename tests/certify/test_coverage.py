"""Certificates hold as often as they say: 1000 of them where the true risk is known.

The world has eight possible inputs and noisy labels, the networks are linear with two classes, so
the Gibbs risk is a finite sum of normal probabilities, and that of one network a finite sum. Each
repetition draws a sample, trains, certifies and checks, from the checkpoint to the JSON.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import torch

from pacbound.bounds.chernoff import risk_limit
from pacbound.certificate import checker
from pacbound.certificate.format import WholeSetRisk
from pacbound.certify.drawn import draw_network
from pacbound.certify.issue import Request, certify, posterior_of
from pacbound.data import Dataset
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.recipes import Settings
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train

REPETITIONS, OF_ONE_DRAW, M, DELTA = 1000, 200, 60, 0.2
WORLD = np.random.default_rng(11)
INPUTS = WORLD.normal(size=(8, 6)).astype(np.float32)
WEIGHTS = WORLD.dirichlet(np.ones(8))
SECOND_CLASS = np.clip(WORLD.random(8), 0.15, 0.85)  # P(y = 1 | x)


def draw_sample(seed: int) -> Dataset:
    generator = np.random.default_rng(seed)
    places = generator.choice(8, M, p=WEIGHTS)
    labels = (generator.random(M) < SECOND_CLASS[places]).astype(np.int64)
    return Dataset("world", INPUTS[places], labels, None, None, 2)


def linear_settings(settings: Settings, posterior: str) -> Settings:
    return dataclasses.replace(
        settings,
        hidden=(),
        input_scale=1.0,
        smoothing=0.0,
        initial_scale=(0.3,),
        epochs=2,
        batch=30,
        learning_rate=0.1,
        averaging=0.0,
        posterior=posterior,
    )


def true_gibbs_risk(network: StochasticNetwork) -> float:
    """Σ_x P(x) Σ_y P(y|x) P_q(the other class wins), each a normal probability."""
    (layer,) = network.layers.values()
    affine = layer.posterior_of("affine")
    inputs = torch.nn.functional.pad(torch.from_numpy(INPUTS), (0, 1), value=1.0)
    contrast = torch.tensor([-1.0, 1.0])
    with torch.no_grad():
        mean = inputs @ affine.mean.T @ contrast
        draws = torch.eye(affine.mean.numel()).reshape(-1, *affine.shape)
        root = torch.stack([affine.noise(draw) for draw in draws])  # W − M is linear in E
        spread = torch.einsum("eoi,ni,o->ne", root, inputs, contrast).square().sum(1)
        second_wins = torch.distributions.Normal(0, 1).cdf(mean / spread.sqrt()).double().numpy()
    return float(WEIGHTS @ (SECOND_CLASS * (1 - second_wins) + (1 - SECOND_CLASS) * second_wins))


def true_risk(weights: dict[str, torch.Tensor]) -> float:
    """Σ_x P(x) P(the label is not the class that the network gives x)."""
    weight, bias = weights.values()
    first, second = (torch.from_numpy(INPUTS) @ weight.T + bias).double().numpy().T
    wrong = np.where(second > first, 1 - SECOND_CLASS, SECOND_CLASS)
    return float(WEIGHTS @ wrong)


@pytest.mark.parametrize("half", [0, 1])
def test_coverage(
    tiny_settings: Settings,
    tmp_path: Path,
    half: int,
    record_property: Callable[[str, object], None],
) -> None:
    settings = linear_settings(tiny_settings, ("diag", "k-linear")[half])
    request = Request(Decimal(str(DELTA)), draws=10 * M)
    violated = unpaid = 0
    worst = -math.inf
    for repetition in range(half, REPETITIONS, 2):
        data = draw_sample(repetition)
        path = tmp_path / "a.pt"
        train(settings, data, path)
        certificate = certify(path, data, request)
        assert checker.check(certificate.to_json()).accepted
        risk = true_gibbs_risk(posterior_of(Checkpoint.load(path), data).network)
        violated += certificate.claim.risk_bound < risk
        worst = max(worst, risk - certificate.claim.risk_bound)
        # What a certificate without its KL and union bound would have claimed.
        unpaid += risk_limit(certificate.risk.errors, certificate.risk.draws, DELTA) < risk
    record_property(
        "measured",
        f"{settings.posterior}: {violated} of {REPETITIONS // 2} certificates at δ = {DELTA} "
        f"violated (closest: {worst:+.3f}); {unpaid} without KL and union bound",
    )
    assert violated <= DELTA * REPETITIONS / 2
    # The test can see a certificate that claims too much.
    assert unpaid > DELTA * REPETITIONS / 2


@pytest.mark.parametrize("half", [0, 1])
def test_coverage_of_one_draw(
    tiny_settings: Settings,
    tmp_path: Path,
    half: int,
    record_property: Callable[[str, object], None],
) -> None:
    settings = linear_settings(tiny_settings, ("k-diag", "k-linear")[half])
    request = Request(Decimal(str(DELTA)), predictor="draw")
    violated = unpaid = 0
    worst = -math.inf
    for repetition in range(half, OF_ONE_DRAW, 2):
        data = draw_sample(repetition)
        path = tmp_path / "a.pt"
        train(settings, data, path)
        certificate = certify(path, data, request)
        assert checker.check(certificate.to_json()).accepted
        problem = posterior_of(Checkpoint.load(path), data)
        weights = draw_network(
            problem.network, problem.center, settings.variance_groups, certificate.seeds.risk
        ).weights
        risk = true_risk(weights)
        violated += certificate.claim.risk_bound < risk
        worst = max(worst, risk - certificate.claim.risk_bound)
        # What the count alone would have claimed.
        assert isinstance(certificate.risk, WholeSetRisk)
        unpaid += certificate.risk.errors / M < risk
    record_property(
        "measured",
        f"one draw, {settings.posterior}: {violated} of {OF_ONE_DRAW // 2} certificates at "
        f"δ = {DELTA} violated (closest: {worst:+.3f}); {unpaid} by the count alone",
    )
    assert violated <= DELTA * OF_ONE_DRAW / 2
    assert unpaid > DELTA * OF_ONE_DRAW / 2
