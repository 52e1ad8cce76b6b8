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
from pacbound.predictors.evidence import bound, drawn_bound, per_example_risk, whole_set_risk
from pacbound.predictors.drawing import draw_network, errors_of
from pacbound.predictors.issuing import Request, certify, posterior_of
from pacbound.predictors.risk import errors_per_example
from pacbound.data import Dataset
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.recipes import Settings
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train
from pacbound.training.networks import plain_network

REPETITIONS, OF_ONE_DRAW, M, DELTA = 1000, 200, 60, 0.2
WORLD = np.random.default_rng(11)
INPUTS = WORLD.normal(size=(8, 6)).astype(np.float32)
WEIGHTS = WORLD.dirichlet(np.ones(8))
SECOND_CLASS = np.clip(WORLD.random(8), 0.15, 0.85)  # P(y = 1 | x)


def draw_sample(seed: int, m: int = M, second_class: np.ndarray = SECOND_CLASS) -> Dataset:
    generator = np.random.default_rng(seed)
    places = generator.choice(8, m, p=WEIGHTS)
    labels = (generator.random(m) < second_class[places]).astype(np.int64)
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


def true_risk(weights: dict[str, torch.Tensor], second_class: np.ndarray = SECOND_CLASS) -> float:
    """Σ_x P(x) P(the label is not the class that the network gives x)."""
    weight, bias = weights.values()
    first, second = (torch.from_numpy(INPUTS) @ weight.T + bias).double().numpy().T
    wrong = np.where(second > first, 1 - second_class, second_class)
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
        assert checker.verify(certificate.to_json().encode()).accepted
        risk = true_gibbs_risk(posterior_of(Checkpoint.load(path), data).network)
        violated += certificate.risk_bound < risk
        worst = max(worst, risk - certificate.risk_bound)
        # What a certificate without its KL and union bound would have claimed.
        unpaid += risk_limit(certificate.claims[0].errors, certificate.claims[0].draws, DELTA) < risk
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
        assert checker.verify(certificate.to_json().encode()).accepted
        problem = posterior_of(Checkpoint.load(path), data)
        weights = draw_network(
            problem.network, problem.center, settings.variance_groups, certificate.seeds.risk
        ).weights
        risk = true_risk(weights)
        violated += certificate.risk_bound < risk
        worst = max(worst, risk - certificate.risk_bound)
        # What the count alone would have claimed.
        unpaid += certificate.claims[0].errors / M < risk
    record_property(
        "measured",
        f"one draw, {settings.posterior}: {violated} of {OF_ONE_DRAW // 2} certificates at "
        f"δ = {DELTA} violated (closest: {worst:+.3f}); {unpaid} by the count alone",
    )
    assert violated <= DELTA * OF_ONE_DRAW / 2
    assert unpaid > DELTA * OF_ONE_DRAW / 2


# Learned priors: where labels are the toss of a coin every predictor errs half of the time, and a
# prior can do nothing but learn its own examples by heart.

OF_A_LEARNED_PRIOR, COINS = 30, 200


def toss_coins(seed: int) -> Dataset:
    generator = np.random.default_rng(seed)
    inputs = generator.normal(size=(COINS, 150)).astype(np.float32)
    return Dataset("coins", inputs, generator.integers(0, 2, COINS), None, None, 2)


@pytest.mark.parametrize("predictor", ["gibbs", "draw"])
def test_coverage_with_a_learned_prior(
    tiny_settings: Settings,
    tmp_path: Path,
    predictor: str,
    record_property: Callable[[str, object], None],
) -> None:
    settings = dataclasses.replace(
        linear_settings(tiny_settings, "diag"),
        epochs=1,
        learning_rate=0.001,
        prior_fraction=0.5,
        prior_epochs=8,
        prior_batch=25,
        prior_learning_rate=0.05,
    )
    request = Request(Decimal(str(DELTA)), predictor, inequality="maurer", draws=5 * COINS)
    violated = unsound = 0
    worst = -math.inf
    for repetition in range(OF_A_LEARNED_PRIOR):
        data = toss_coins(repetition)
        path = tmp_path / "a.pt"
        train(settings, data, path)
        certificate = certify(path, data, request)
        assert certificate.data.m == COINS // 2
        violated += certificate.risk_bound < 0.5
        worst = max(worst, 0.5 - certificate.risk_bound)
        # What counting the examples that the prior learned from would have claimed.
        problem = posterior_of(Checkpoint.load(path), data)
        examples = torch.from_numpy(data.train_inputs), torch.from_numpy(data.train_labels)
        paid = certificate.prior, float(certificate.evidence.nats)
        share = Decimal(repr(certificate.budget.pac_bayes))
        if predictor == "draw":
            network = plain_network(settings, data.input_shape, 2)
            seed = certificate.seeds.risk
            network.load_state_dict(
                draw_network(problem.network, problem.center, "layer", seed).weights
            )
            upper = whole_set_risk(errors_of(network, examples), COINS, "0" * 64).upper
            value = drawn_bound(COINS, *paid, upper, share, None)[0].value
        else:
            errors = errors_per_example(problem.network, examples, 5, certificate.seeds.risk)
            risk = per_example_risk(errors, 5 * COINS, Decimal(repr(certificate.budget.risk)))
            value = bound(COINS, *paid, risk.upper, share, "maurer", None)[0].value
        unsound += value < 0.5
    record_property(
        "measured",
        f"learned prior, {predictor}: {violated} of {OF_A_LEARNED_PRIOR} certificates at "
        f"δ = {DELTA} violated (closest: {worst:+.3f}); {unsound} that count the prior's examples",
    )
    assert violated <= DELTA * OF_A_LEARNED_PRIOR / 4
    assert unsound > 0.5 * OF_A_LEARNED_PRIOR


OF_A_VOTE, VOTES, CLEAR = 12, 600, np.where(SECOND_CLASS > 0.5, 0.97, 0.03)


def true_vote_risk(network: StochasticNetwork) -> float:
    """The vote of normal weights is that of their mean: more than half of them are on its side."""
    (layer,) = network.layers.values()
    affine = layer.posterior_of("affine").mean.detach()
    return true_risk({"weight": affine[:, :-1], "bias": affine[:, -1]}, CLEAR)


@pytest.mark.parametrize("fraction", [0.0, 0.5])
def test_coverage_of_votes(
    tiny_settings: Settings,
    tmp_path: Path,
    fraction: float,
    record_property: Callable[[str, object], None],
) -> None:
    settings = dataclasses.replace(
        linear_settings(tiny_settings, "diag"),
        batch=100,
        prior_fraction=fraction,
        prior_epochs=4,
        prior_batch=20,
        prior_learning_rate=0.05,
    )
    claims: dict[str, list[tuple[float, float]]] = {"vote-gibbs": [], "vote-tandem": []}
    for repetition in range(OF_A_VOTE):
        data = draw_sample(repetition, VOTES, CLEAR)
        path = tmp_path / "a.pt"
        train(settings, data, path)
        risk = true_vote_risk(posterior_of(Checkpoint.load(path), data).network)
        for predictor, found in claims.items():
            request = Request(Decimal(str(DELTA)), predictor, draws=5 * VOTES)
            found.append((certify(path, data, request).risk_bound, risk))
    for predictor, found in claims.items():
        violated = sum(claim < risk for claim, risk in found)
        told = sum(claim < 1 for claim, _ in found)
        record_property(
            "measured",
            f"{predictor}, prior's part {fraction}: {violated} of {OF_A_VOTE} certificates at "
            f"δ = {DELTA} violated (closest: {max(r - c for c, r in found):+.3f}); {told} say "
            "something",
        )
        assert violated <= DELTA * OF_A_VOTE / 4
        assert told > OF_A_VOTE / 2
