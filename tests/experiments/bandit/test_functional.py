"""fBNN: estimated scores against known ones, the posterior against an exact Gaussian process."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pacbound.experiments.bandit.functional import FunctionalNetwork, kernel
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.scores import SCORES, gaussian_scores
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.seeds import derive


def normal_draws(count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws from a correlated normal law, and the true scores there."""
    generator = np.random.default_rng(0)
    factor = np.eye(size) + 0.3 * generator.standard_normal((size, size))
    draws = 1 + generator.standard_normal((count, size)) @ factor.T
    return draws.astype(np.float32), -(draws - 1) @ np.linalg.inv(factor @ factor.T)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("name", SCORES)
def test_scores_of_a_normal_law_are_estimated(name: str, size: int) -> None:
    draws, true = normal_draws(400, size)
    estimated = SCORES[name](draws)
    error = np.sqrt(np.square(estimated - true).mean() / np.square(true).mean())
    assert error < {"gaussian": 0.25, "spectral": 0.5}[name]
    # Stein's identity: E score·(x − m)ᵀ = −I.
    identity = -estimated.T @ (draws - draws.mean(0)) / len(draws)
    np.testing.assert_allclose(identity, np.eye(size), atol=0.25)


def test_spectral_scores_follow_a_law_that_is_not_normal() -> None:
    generator = np.random.default_rng(1)
    sides = generator.choice([-1.0, 1.0], 400)
    draws = (sides + 0.5 * generator.standard_normal(400)).astype(np.float32)[:, None]
    true = (np.tanh(4 * draws) - draws) / 0.25  # of ½N(−1, ¼) + ½N(1, ¼)
    for name, right in (("spectral", True), ("gaussian", False)):
        error = np.square(SCORES[name](draws) - true).mean() / np.square(true).mean()
        assert (error < 0.3) == right


def test_several_sets_of_draws_are_independent_of_each_other() -> None:
    sets = np.stack([normal_draws(30, 3)[0], 5 * normal_draws(60, 3)[0][30:]])
    for scores in SCORES.values():
        np.testing.assert_allclose(
            scores(sets), [scores(one) for one in sets], rtol=1e-3, atol=1e-4
        )


def test_gaussian_scores_give_the_exact_gradient_of_the_entropy_of_an_affine_map() -> None:
    generator = np.random.default_rng(2)
    factor = np.eye(4) + 0.2 * generator.standard_normal((4, 4))
    noise = generator.standard_normal((9, 4))
    noise -= noise.mean(0)
    scores = gaussian_scores((noise @ factor.T).astype(np.float32))
    gradient = -scores.T @ noise / len(noise)  # of ln |det A| by A
    np.testing.assert_allclose(gradient, np.linalg.inv(factor).T, rtol=1e-3, atol=1e-4)


def functional_network(**changes: object) -> FunctionalNetwork:
    settings = AgentSettings.from_mapping(
        {"hidden": 5, "batch": 8, "initial_scale": 0.3, **changes}
    )
    return FunctionalNetwork(2, 3, settings, derive("functional"))


@pytest.mark.parametrize("draws", [6, 7])
def test_the_gradient_of_the_divergence_is_that_of_automatic_differentiation(
    draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a known score, Σ ½ fᵀK⁻¹f + score·f has the gradient that is added."""
    made = functional_network(function_draws=draws, measurement_points=4, measurement_noise=1e-4)
    monkeypatch.setitem(SCORES, "gaussian", lambda draws: 0.5 * np.ones_like(draws))
    points = np.random.default_rng(3).standard_normal((4, 3)).astype(np.float32)
    points[:, -1] = 1
    saved = made.stream.state()
    made.parameters.gradient[:] = 0
    made.add_divergence(points, 0.7)
    made.stream.restore(saved)
    leaves, drawn = [], []
    for layer in (made.hidden, made.output):
        half = made._half_noise(layer)
        noise = np.concatenate([half, -half])[:draws]
        mean = torch.from_numpy(layer.mean.copy()).requires_grad_()
        log_scale = torch.from_numpy(layer.log_scale.copy()).requires_grad_()
        leaves.append((layer, mean, log_scale))
        drawn.append(mean + torch.from_numpy(noise) * log_scale.exp())
    sums = torch.from_numpy(points) @ drawn[0].mT
    features = torch.cat([sums.relu(), torch.ones(*sums.shape[:2], 1)], dim=2)
    outputs = features @ drawn[1].mT
    covariance = kernel(points, points, 1.0, 1.0) + 1e-8 * np.eye(4)
    inverse = torch.from_numpy(np.linalg.inv(np.linalg.cholesky(covariance))).float()
    white = inverse @ outputs
    (0.7 * (white.square() / 2 + 0.5 * outputs).sum() / draws).backward()
    for layer, mean, log_scale in leaves:
        for ours, theirs in ((layer.by_mean, mean.grad), (layer.by_log_scale, log_scale.grad)):
            assert theirs is not None
            scale = float(theirs.abs().max())
            np.testing.assert_allclose(ours, theirs.numpy(), atol=5e-3 * scale)


@pytest.mark.parametrize("score", SCORES)
def test_the_posterior_is_near_that_of_the_gaussian_process(score: str) -> None:
    generator = np.random.default_rng(3)
    halves = generator.uniform(-1.5, -0.3, 20), generator.uniform(0.5, 1.5, 20)
    contexts = np.concatenate(halves).astype(np.float32)[:, None]
    rewards = np.sin(2 * contexts[:, 0]) + 0.3 * generator.standard_normal(40)
    settings = AgentSettings(
        noise=0.3,
        learning_rate=0.01,
        decay=0.02,
        minibatches=300,
        batch=64,
        measurement_points=12,
        initial_scale=(0.1,),
        score=score,
    )
    network = FunctionalNetwork(1, 1, settings, derive("process"))
    memory = Memory(1, settings)
    memory.add(contexts, np.zeros(40, np.int64), rewards.astype(np.float32))
    for _ in range(8):
        network.train(memory)
    grid = np.linspace(-1.5, 1.5, 13).astype(np.float32)[:, None]

    def covariance(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        distances = np.square(left - right.T, dtype=np.float64)
        return 0.5 + 0.5 * np.exp(-distances / (4 * contexts.var()))

    own = covariance(contexts, contexts) + 0.09 * np.eye(40)
    cross = covariance(grid, contexts)
    mean = cross @ np.linalg.solve(own, rewards)
    prior = covariance(grid, grid)
    deviation = np.sqrt(np.diag(prior - cross @ np.linalg.solve(own, cross.T)))
    drawn = network.predict(memory.as_inputs(np.repeat(grid, 2000, axis=0))).reshape(13, 2000)
    np.testing.assert_allclose(drawn.mean(1), mean, atol=0.08)
    ratio = drawn.std(1) / deviation
    assert 0.5 < ratio.min() < ratio.max() < 1.4
    assert 0.72 < np.exp(np.log(ratio).mean()) < 1.25


def test_measurement_points_are_contexts_and_mixtures_of_them() -> None:
    made = functional_network(measurement_points=6)
    inputs = np.array([[0, 10, 1], [1, 11, 1], [2, 12, 1], [3, 13, 1]], np.float32)
    for _ in range(10):
        points = made._measurement_points(inputs)
        assert points.shape == (6, 3)
        assert all(point in inputs.tolist() for point in points[3:].tolist())
        for column, allowed in zip(points.T, inputs.T, strict=True):
            assert set(column) <= set(allowed)
    assert inputs[0].tolist() == [0, 10, 1]
