"""Agents: their gradients, their posteriors, their choices."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.errors import PacboundError
from pacbound.experiments.bandit.agents import AGENTS, AgentSettings, make_agent
from pacbound.experiments.bandit.closed_form.adam import Adam
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.network import RewardNetwork
from pacbound.experiments.bandit.regression import BayesianRegression
from pacbound.experiments.bandit.stream import Stream
from pacbound.networks.share import Share
from pacbound.seeds import derive

POSTERIORS = ["point", "diag", "k-diag", "k-linear", "k-nonlinear"]
SIZE, ARMS, BATCH = 5, 3, 12
NO_VW = pytest.mark.skipif(find_spec("vowpalwabbit") is None, reason="needs vowpalwabbit")
INSTALLED = [pytest.param(name, marks=NO_VW) if name == "vw" else name for name in AGENTS]


class Prepared:
    """Noise that is known beforehand, in the place of a random source."""

    def __init__(self, *values: np.ndarray) -> None:
        self.values: Iterator[np.ndarray] = iter(values)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        noise = torch.from_numpy(next(self.values))
        assert noise.shape == shape
        return noise


def network_of(posterior: str, **changes: object) -> RewardNetwork:
    """A small network whose every parameter has left its starting value."""
    settings = AgentSettings.from_mapping(
        {
            "hidden": 6,
            "batch": BATCH,
            "noise": 0.7,
            "prior_variance": [0.5, 2.0],
            "initial_scale": 0.3,
            "flow_hidden": [4],
            **changes,
        }
    )
    made = RewardNetwork(SIZE, ARMS, posterior, settings, derive("test", posterior))
    moves = np.random.default_rng(1)
    for parameter in made.network.parameters():
        values, _ = made.parameters.of(parameter)
        move = 0.3 * moves.standard_normal(values.shape)
        strict = parameter.shape[:1] == parameter.shape[1:]  # only triangles are square here
        values += np.tril(move, -1) if strict else move
    return made


def minibatch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(2)
    inputs = np.ones((BATCH, SIZE + 1), np.float32)
    inputs[:, :-1] = generator.standard_normal((BATCH, SIZE))
    arms = generator.integers(ARMS, size=BATCH)
    rewards = generator.standard_normal((BATCH, 1)).astype(np.float32)
    return inputs, np.eye(ARMS, dtype=np.float32)[arms], rewards


def oracle_loss(made: RewardNetwork, weight: float) -> Tensor:
    """The loss by the project's stochastic layers, at the noise that `made` has drawn."""
    inputs, chosen, rewards = (torch.from_numpy(array) for array in minibatch())
    contexts = inputs[:, :-1]
    hidden, output = made.network.layers.values()
    variances = made.settings.prior_variance
    posteriors = [next(iter(layer.posteriors.values())) for layer in (hidden, output)]

    def kl() -> Tensor:
        return sum(
            gaussian_kl(
                q.second_moment(torch.zeros_like(q.mean)),
                q.log_det(),
                q.mean.numel(),
                torch.tensor(variance),
            )
            for q, variance in zip(posteriors, variances, strict=True)
        )

    def error(mean: Tensor, variance: Tensor | float, part: slice) -> Tensor:
        expected = (mean - rewards[part]).square() + variance
        return (expected * chosen[part]).sum() / (2 * made.settings.noise**2 * BATCH)

    if made.network.draws_per_example():
        hidden.begin(Prepared(made.hidden.noise), 1, Share.whole(BATCH))
        features = functional.relu(hidden(contexts))
        output.begin(None, 1, Share.whole(BATCH))
        extended = functional.pad(features, (0, 1), value=1.0)
        # Noise is linear in ε, so its variance is the sum of the squares that unit vectors give.
        variance = sum(
            posteriors[1].local_noise(extended, unit.expand(BATCH, ARMS)).square()
            for unit in torch.eye(ARMS)
        )
        return error(output(features), variance, slice(None)) + weight * kl()
    total = torch.zeros(())
    draws, rows = made.settings.weight_draws, BATCH // made.settings.weight_draws
    for i in range(draws):
        part = slice(i * rows, (i + 1) * rows)
        source = Prepared(made.hidden.noise[i], made.output.noise[i])
        total = total + error(made.network(contexts[part], source), 0.0, part)
        total = total + weight * kl() / draws
    return total


@pytest.mark.parametrize("weight", [0.0, 0.05])
@pytest.mark.parametrize(
    ("posterior", "changes"),
    [
        *[(name, {}) for name in POSTERIORS],
        ("k-nonlinear", {"weight_draws": 3}),
        ("k-nonlinear", {"flow_steps": 1, "flow_hidden": [4, 3]}),
    ],
)
def test_the_gradient_is_that_of_automatic_differentiation(
    posterior: str, changes: dict[str, object], weight: float
) -> None:
    made = network_of(posterior, **changes)
    made.hidden.noise[:] = 0
    made.hidden.draw_noise(made.stream)
    made.output.draw_for_means(made.stream)
    made.gradient(*minibatch(), weight)
    oracle_loss(made, weight).backward()
    for name, parameter in made.network.named_parameters():
        gradient = np.zeros(parameter.shape) if parameter.grad is None else parameter.grad.numpy()
        if ".below" in name:  # autograd's is zero there too, where the triangle is masked
            assert not np.triu(gradient).any()
        _, ours = made.parameters.of(parameter)
        scale = max(np.abs(gradient).max(), 1e-3)
        np.testing.assert_allclose(ours, gradient, atol=2e-5 * scale, err_msg=name)
        assert weight == 0 or np.abs(gradient).max() > 1e-5, name


def test_adam_is_that_of_torch() -> None:
    generator = np.random.default_rng(0)
    values = generator.standard_normal(50).astype(np.float32)
    parameter = torch.nn.Parameter(torch.from_numpy(values.copy()))
    reference = torch.optim.Adam([parameter], lr=0.02)
    ours = Adam(50)
    for _ in range(20):
        gradient = generator.standard_normal(50).astype(np.float32)
        parameter.grad = torch.from_numpy(gradient.copy())
        reference.step()
        ours.step(values, gradient, 0.02)
    np.testing.assert_allclose(values, parameter.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_rates_fall_within_a_training_and_with_what_was_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates: list[float] = []
    monkeypatch.setattr(Adam, "step", lambda self, values, gradient, rate: rates.append(rate))
    settings = AgentSettings(
        learning_rate=0.1, decay=0.5, slowing=5.0, minibatches=3, batch=4, hidden=3
    )
    agent = make_agent("diag", 4, 3, settings, seed=0)
    for _ in range(2):  # of 200 observations: the rate of a training is a half, then a third
        agent.observe(*regression_data())
        agent.train()
    within = np.array([1, 1 / 1.5, 1 / 2])
    np.testing.assert_allclose(rates, [*(0.1 / 2 * within), *(0.1 / 3 * within)])


@pytest.mark.parametrize("reset", [True, False])
def test_a_training_forgets_the_optimizers_averages_if_it_is_to(reset: bool) -> None:
    settings = AgentSettings(reset_optimizer=reset, minibatches=3, batch=4, hidden=3)
    memory = Memory(4, settings)
    memory.add(*regression_data())
    ends = []
    for earlier in (0, 2):  # steps with other gradients before this training
        network = RewardNetwork(4, 3, "diag", settings, seed="s")
        for _ in range(earlier):
            gradient = np.ones_like(network.parameters.values)
            network.optimizer.step(np.zeros_like(gradient), gradient, 1.0)
        network.train(memory)
        ends.append(network.parameters.values.copy())
    assert np.array_equal(*ends) == reset


@pytest.mark.parametrize("posterior", ["diag", "k-diag", "k-linear", "k-nonlinear"])
def test_predictions_have_the_law_of_networks_drawn_one_by_one(posterior: str) -> None:
    made = network_of(posterior)
    count = 600
    inputs = np.repeat(minibatch()[0][:1], 10 * count, axis=0)
    predicted = made.predict(inputs)
    source = Stream(derive("oracle"))
    contexts = torch.from_numpy(inputs[:1, :-1])
    drawn = []
    with torch.no_grad():
        for _ in range(count):
            weights = made.network.draw_weights(source)
            features = functional.relu(functional.linear(contexts, *list(weights.values())[:2]))
            drawn.append(functional.linear(features, *list(weights.values())[2:])[0])
    reference = torch.stack(drawn).numpy()
    error = reference.std(0) / np.sqrt(count)
    assert (np.abs(predicted.mean(0) - reference.mean(0)) < 6 * error).all()
    np.testing.assert_allclose(
        np.cov(predicted.T), np.cov(reference.T), atol=0.3 * reference.var(0).max()
    )


def test_antithetic_noise_is_standard_normal_and_sums_to_nothing() -> None:
    block = np.empty((1001, 40), np.float32)
    Stream(derive("noise")).fill_antithetic(block)
    np.testing.assert_array_equal(block[:500], -block[501:])
    assert abs(block.var() - 1) < 0.03


def test_arms_are_chosen_as_often_as_they_are_best() -> None:
    settings = AgentSettings(hidden=4, initial_scale=(0.5,), batch=8)
    agent = make_agent("k-linear", 2, 3, settings, seed=0)
    context = np.array([[0.5, -1.0]], np.float32)
    chosen = np.bincount(agent.choose(np.repeat(context, 20_000, axis=0)), minlength=3) / 20_000
    weights = agent.network.network.state_dict()
    means = [value.numpy() for key, value in weights.items() if key.endswith("affine.mean")]
    # The starting triangles are identities, so entries are independent with deviation 0.5.
    generator = np.random.default_rng(0)
    first = means[0] + 0.5 * generator.standard_normal((20_000, *means[0].shape))
    second = means[1] + 0.5 * generator.standard_normal((20_000, *means[1].shape))
    hidden = np.maximum(first @ np.append(context[0], 1), 0)
    hidden = np.concatenate([hidden, np.ones((20_000, 1))], 1)
    best = (second @ hidden[:, :, None])[:, :, 0].argmax(1)
    expected = np.bincount(best, minlength=3) / 20_000
    assert expected.min() > 0.05
    np.testing.assert_allclose(chosen, expected, atol=0.02)


def regression_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(4)
    contexts = generator.standard_normal((200, 4)).astype(np.float32)
    arms = generator.integers(3, size=200)
    rewards = contexts @ generator.standard_normal(4) * (1 + arms) + generator.standard_normal(200)
    return contexts, arms, rewards.astype(np.float32)


def test_the_linear_agent_has_the_conjugate_posterior() -> None:
    contexts, arms, rewards = regression_data()
    settings = AgentSettings()
    agent = make_agent("linear", 4, 3, settings, seed=0)
    for i in range(200):
        agent.observe(contexts[i : i + 1], arms[i : i + 1], rewards[i : i + 1])
    shape, rate = agent.regression.gamma()
    for arm in range(3):
        x = np.hstack([contexts, np.ones((200, 1))])[arms == arm]
        y = rewards[arms == arm].astype(np.float64)
        precision = x.T @ x + 0.25 * np.eye(5)
        mean = np.linalg.solve(precision, x.T @ y)
        residual = y - x @ mean
        np.testing.assert_allclose(agent.regression.mean[arm], mean, atol=1e-10)
        np.testing.assert_allclose(
            agent.regression.covariance[arm], np.linalg.inv(precision), atol=1e-12
        )
        assert shape[arm] == pytest.approx(6 + len(y) / 2)
        # b = b0 + ½(‖y − Xm‖² + λ‖m‖²): another form of what the code computes
        assert rate[arm] == pytest.approx(6 + (residual @ residual + 0.25 * mean @ mean) / 2)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("name", ["linear", "neural-linear"])
def test_regressions_are_of_scaled_rewards(name: str, standardize: bool) -> None:
    """The closed form on the inputs and the rewards as the settings scale them."""
    contexts, arms, rewards = regression_data()
    rewards = 50 + 1000 * rewards
    settings = AgentSettings(
        hidden=8,
        minibatches=30,
        batch=32,
        context_scale=2.0,
        reward_scale=10.0,
        standardize=standardize,
    )
    agent = make_agent(name, 4, 3, settings, seed=0)
    agent.observe(contexts[:150], arms[:150], rewards[:150])
    agent.train()
    agent.observe(contexts[150:], arms[150:], rewards[150:])
    inputs = np.hstack([contexts / 2, np.ones((200, 1))])
    if name == "neural-linear":
        inputs = agent.network.features(inputs.astype(np.float32)).astype(np.float64)
    scaled = rewards.astype(np.float64) / 10
    if standardize:  # by the rewards until the training
        scaled = (scaled - scaled[:150].mean()) / scaled[:150].std() / 10
    for arm in range(3):
        x, y = inputs[arms == arm], scaled[arms == arm]
        mean = np.linalg.solve(x.T @ x + 0.25 * np.eye(x.shape[1]), x.T @ y)
        rate = 6 + (np.square(y - x @ mean).sum() + 0.25 * mean @ mean) / 2
        np.testing.assert_allclose(agent.regression.mean[arm], mean, rtol=1e-3, atol=1e-4)
        assert agent.regression.gamma()[1][arm] == pytest.approx(rate, rel=1e-4)


def test_members_of_the_bootstrap_see_their_share_and_choose_in_turn() -> None:
    contexts, arms, rewards = regression_data()
    settings = AgentSettings(hidden=8, minibatches=60, batch=32, members=3, share=0.5)
    agent = make_agent("bootstrap", 4, 3, settings, seed=0)
    agent.observe(contexts, arms, rewards)
    counts = [memory.count for memory in agent.memories]
    assert len(set(counts)) > 1
    assert all(70 < count < 130 for count in counts)  # four standard deviations of 200 halves
    agent.train()
    inputs = agent.memories[0].as_inputs(contexts)
    own = np.stack([network.predict(inputs).argmax(1) for network in agent.networks])
    split = int(np.flatnonzero((own != own[0]).any(0))[0])  # a context where they disagree
    chosen = agent.choose(np.repeat(contexts[split : split + 1], 3000, axis=0))
    expected = np.bincount(own[:, split], minlength=3) / 3
    np.testing.assert_allclose(np.bincount(chosen, minlength=3) / 3000, expected, atol=0.05)


@NO_VW
def test_vowpal_wabbit_weights_what_it_learns_from_a_log_by_its_propensities() -> None:
    generator = np.random.default_rng(0)
    contexts = generator.standard_normal((400, 2)).astype(np.float32)
    arms = (generator.random(400) < 0.9).astype(np.int64)
    propensities = np.where(arms == 1, 0.9, 0.1)
    agent = make_agent("vw", 2, 2, AgentSettings(), seed=0)
    agent.observe_logged(contexts, arms, arms.astype(np.float32), propensities)
    np.testing.assert_allclose(agent.state()["probabilities"], propensities)
    agent.choose(contexts[:1])
    assert len(agent.state()["probabilities"]) == 400


@NO_VW
def test_vowpal_wabbit_learns_from_rewards_of_any_size() -> None:
    generator = np.random.default_rng(0)
    contexts = generator.standard_normal((1500, 2)).astype(np.float32)
    for size in (0.01, 1.0, 100.0):
        agent = make_agent("vw", 2, 2, AgentSettings(standardize=True), seed=0)
        right = []
        for i, context in enumerate(contexts):
            (arm,) = agent.choose(context[None])
            right.append(arm == (context[0] > 0))
            reward = np.array([size * (3 + right[-1])], np.float32)
            agent.observe(context[None], np.array([arm]), reward)
            if i % 50 == 49:
                agent.train()
        assert np.mean(right[-500:]) > 0.8


def test_an_agent_whose_package_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vowpalwabbit", None)
    with pytest.raises(PacboundError, match=r"pip install 'pacbound\[vw\]'"):
        make_agent("vw", 2, 2, AgentSettings(), seed=0)


def test_contexts_that_no_regression_can_take_are_refused() -> None:
    contexts = np.full((50, 2), 1e18, np.float32)
    agent = make_agent("linear", 2, 2, AgentSettings(), seed=0)
    agent.observe(contexts, np.arange(50) % 2, np.ones(50, np.float32))
    with pytest.raises(PacboundError, match="scale their columns"):
        agent.train()


def test_fitting_at_once_is_updating_one_by_one() -> None:
    contexts, arms, rewards = regression_data()
    one, other = (BayesianRegression(4, 3, AgentSettings()) for _ in range(2))
    for x, arm, reward in zip(contexts, arms, rewards, strict=True):
        one.update(x, int(arm), float(reward))
    other.fit(contexts, arms, rewards)
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-5)
    np.testing.assert_allclose(one.gamma()[1], other.gamma()[1], rtol=1e-5)


def test_the_linear_agent_samples_from_its_posterior() -> None:
    contexts, arms, rewards = regression_data()
    regression = BayesianRegression(4, 3, AgentSettings())
    regression.fit(contexts[:20], arms[:20], rewards[:20])
    n = 20_000
    sampled = regression.sample(np.repeat(contexts[:1], n, axis=0), Stream(derive("sample")))
    generator = np.random.default_rng(0)
    shape, rate = regression.gamma()
    drawn = np.empty((n, 3))
    for arm in range(3):
        deviation = np.sqrt(rate[arm] / generator.gamma(shape[arm], size=n))
        factor = np.linalg.cholesky(regression.covariance[arm])
        noise = deviation[:, None] * (generator.standard_normal((n, 4)) @ factor.T)
        drawn[:, arm] = (regression.mean[arm] + noise) @ contexts[0]
    np.testing.assert_allclose(sampled.mean(0), drawn.mean(0), atol=0.05 * drawn.std(0).max())
    np.testing.assert_allclose(sampled.std(0), drawn.std(0), rtol=0.05)
    frequency = [np.bincount(x.argmax(1), minlength=3) / n for x in (sampled, drawn)]
    np.testing.assert_allclose(*frequency, atol=0.02)


SETTLED = {"standardize": True, "learn_noise": True, "floor": 1.0, "context_length": 3.0}


@pytest.mark.parametrize("changes", [{}, SETTLED])
@pytest.mark.parametrize("name", INSTALLED)
def test_a_restored_agent_continues_as_the_original(name: str, changes: dict[str, Any]) -> None:
    settings = AgentSettings(hidden=5, minibatches=3, batch=8, **changes)
    contexts, arms, rewards = regression_data()
    agent, other = (make_agent(name, 4, 3, settings, seed) for seed in (0, 0))
    agent.observe(contexts[:100], arms[:100], rewards[:100])
    agent.train()
    agent.choose(contexts[:7])
    agent.observe(contexts[100:110], arms[100:110], rewards[100:110])
    saved = {key: value.copy() for key, value in agent.state().items()}
    other.remember(contexts[:110], arms[:110], rewards[:110])
    other.restore(saved)
    for _ in range(2):
        choices = [each.choose(contexts[110:]) for each in (agent, other)]
        np.testing.assert_array_equal(*choices)
        for each in (agent, other):
            each.observe(contexts[110:], arms[110:], rewards[110:])
            each.train()


def test_memory_grows_and_scales() -> None:
    memory = Memory(2, AgentSettings(context_scale=2.0, reward_scale=10.0))
    contexts = np.arange(6000, dtype=np.float32).reshape(3000, 2)
    for part in np.split(np.arange(3000), 30):
        memory.add(contexts[part], part % 3, part.astype(np.float32))
    np.testing.assert_array_equal(memory.inputs[:, :2], contexts / 2)
    assert (memory.inputs[:, 2] == 1).all()
    np.testing.assert_array_equal(memory.arms, np.arange(3000) % 3)
    np.testing.assert_allclose(memory.rewards, np.arange(3000) / 10, rtol=1e-6)


def test_rewards_are_standardized_by_those_seen_before_the_last_training() -> None:
    memory = Memory(2, AgentSettings(standardize=True, reward_scale=2.0))
    rewards = np.random.default_rng(0).normal(5, 3, 90).astype(np.float32)
    contexts, arms = np.zeros((90, 2), np.float32), np.zeros(90, np.int64)
    memory.add(contexts[:60], arms[:60], rewards[:60])
    memory.settle()
    memory.add(contexts[60:], arms[60:], rewards[60:])
    expected = (rewards - rewards[:60].mean()) / (2 * rewards[:60].std())
    np.testing.assert_allclose(memory.rewards, expected, rtol=1e-4, atol=1e-5)
    same = Memory(2, AgentSettings(standardize=True))
    same.add(contexts[:3], arms[:3], np.full(3, 7, np.float32))
    same.settle()
    assert memory.rewards.dtype == np.float32
    np.testing.assert_array_equal(same.rewards, 0)


def test_contexts_are_scaled_to_a_length_by_those_before_the_first_training() -> None:
    settings = AgentSettings(context_length=10.0, hidden=4, minibatches=2, batch=8)
    contexts = np.random.default_rng(0).normal(3, 40, (90, 3)).astype(np.float32)
    arms, rewards = np.arange(90) % 2, np.ones(90, np.float32)
    agent = make_agent("diag", 3, 2, settings, seed=0)
    for rows in (slice(50), slice(50, 90)):
        agent.observe(contexts[rows], arms[rows], rewards[rows])
        agent.train()
    scale = 10 / np.linalg.norm(contexts[:50].astype(np.float64), axis=1).mean()
    np.testing.assert_allclose(agent.memory.inputs[:, :3], scale * contexts, rtol=1e-6)
    assert (agent.memory.inputs[:, 3] == 1).all()
    np.testing.assert_array_equal(agent.memory.as_inputs(contexts), agent.memory.inputs)
    # From the first training on, the unit of contexts is nothing that an agent can see.
    other = make_agent("diag", 3, 2, settings, seed=0)
    other.observe(1024 * contexts[:50], arms[:50], rewards[:50])
    other.train()
    fresh = make_agent("diag", 3, 2, settings, seed=0)
    fresh.observe(contexts[:50], arms[:50], rewards[:50])
    fresh.train()
    np.testing.assert_array_equal(other.choose(1024 * contexts), fresh.choose(contexts))
    zeros = make_agent("diag", 3, 2, settings, seed=0)
    zeros.observe(np.zeros((5, 3), np.float32), arms[:5], rewards[:5])
    zeros.train()
    assert np.isfinite(zeros.memory.inputs).all()


@pytest.mark.parametrize(
    ("settings", "key", "value"),
    [
        (AgentSettings(), "contexts", [1000, 1]),
        (AgentSettings(), "contexts", [1, 0]),
        (AgentSettings(context_length=2.0), "contexts", [-1, 1]),
        (AgentSettings(context_length=2.0), "contexts", [3, 0]),
        (AgentSettings(), "standard", [5, 3]),
        (AgentSettings(standardize=True), "standard", [5, 0]),
    ],
)
def test_scales_that_no_observations_lead_to_are_refused(
    settings: AgentSettings, key: str, value: list[float]
) -> None:
    memory = Memory(2, settings)
    memory.add(np.ones((3, 2), np.float32), np.arange(3), np.ones(3, np.float32))
    with pytest.raises(ValueError, match="scale"):
        memory.restore({**memory.state(), key: np.array(value, np.float32)})


def test_a_gain_multiplies_the_initial_means() -> None:
    usual, small = (
        RewardNetwork(5, 2, "k-linear", AgentSettings(initial_gain=gain), derive("gain"))
        for gain in (1.0, 0.25)
    )
    for one, other in zip(usual.layers, small.layers, strict=True):
        np.testing.assert_array_equal(one.mean / 4, other.mean)


def test_the_noise_is_learned_from_the_residuals() -> None:
    generator = np.random.default_rng(5)
    contexts = generator.standard_normal((3000, 2)).astype(np.float32)
    arms = generator.integers(2, size=3000)
    rewards = contexts[:, 0] * (1 - 2 * arms) + 0.3 * generator.standard_normal(3000)
    settings = AgentSettings(
        minibatches=300, learning_rate=0.01, decay=0.02, noise=1.0, learn_noise=True, batch=128
    )
    agent = make_agent("diag", 2, 2, settings, seed=0)
    agent.observe(contexts, arms, rewards.astype(np.float32))
    for _ in range(5):
        agent.train()
    assert agent.network.noise == pytest.approx(0.3, abs=0.06)
    few = make_agent("diag", 2, 2, settings, seed=0)
    few.observe(contexts[:2], arms[:2], rewards[:2].astype(np.float32))
    few.train()
    assert few.network.noise > 0.7  # two observations say little


def test_the_priors_variance_can_follow_the_width() -> None:
    settings = AgentSettings(prior_variance=(2.0, 3.0), prior_by_width=True)
    made = RewardNetwork(9, 4, "diag", settings, derive("width"))
    assert made.hidden.prior_variance == pytest.approx(2 / 10)
    assert made.output.prior_variance == pytest.approx(3 / 51)


def test_the_floor_is_the_deviation_of_a_linear_regression() -> None:
    contexts, arms, rewards = regression_data()
    settings = AgentSettings(hidden=5, minibatches=3, batch=8, floor=0.5)
    agent = make_agent("k-linear", 4, 3, settings, seed=0)
    for rows in (slice(120), slice(120, 200)):
        agent.observe(contexts[rows], arms[rows], rewards[rows])
        agent.train()
    x = np.hstack([contexts, np.ones((200, 1))])
    unusual = np.array([4, -3, 2, 5, 1], np.float32)
    noise = agent.floor.draw(np.repeat(unusual[None], 20_000, axis=0), agent.stream)
    for arm in range(3):
        own = x[arms == arm]
        inverse = np.linalg.inv(own.T @ own + (x**2).sum(1).mean() * np.eye(5))
        drawn = agent.network.predict(agent.memory.inputs[arms == arm])[:, arm]
        errors = np.square(drawn - rewards[arms == arm]).mean()
        expected = 0.5 * np.sqrt(errors * unusual @ inverse @ unusual)
        assert noise[:, arm].std() == pytest.approx(expected, rel=0.2)
        leverages = np.einsum("ni,ij,nj->n", own, inverse, own)
        quiet = agent.floor.draw(agent.memory.inputs[arms == arm], agent.stream)[:, arm] == 0
        np.testing.assert_array_equal(quiet, leverages <= 2 * leverages.mean())
        assert 0.8 < quiet.mean() < 1


def test_the_floor_makes_an_agent_try_what_it_is_wrongly_certain_of() -> None:
    """Arm 1 loses on average for one kind of context, and was never pulled for the other."""
    contexts = np.array([[1, 0]] * 40 + [[0, 1]] * 10, np.float32)
    arms = np.array([0, 1] * 20 + [0] * 10)
    rewards = np.array([0, -3, 0, 1] * 10 + [0] * 10, np.float32)
    tried = {}
    for floor in (0.0, 1.0):
        settings = AgentSettings(
            noise=0.1, floor=floor, initial_scale=(0.001,), learning_rate=0.01, batch=64
        )
        agent = make_agent("diag", 2, 2, settings, seed=0)
        agent.observe(contexts, arms, rewards)
        agent.train()
        tried[floor] = [
            agent.choose(np.repeat(row[None], 4000, axis=0)).mean() for row in np.eye(2, dtype="f4")
        ]
    assert max(tried[0.0]) < 0.02
    assert tried[1.0][1] > 0.1 > 3 * tried[1.0][0]


def test_training_that_diverges_says_so() -> None:
    settings = AgentSettings(hidden=5, minibatches=30, batch=8, learning_rate=1e30)
    contexts, arms, rewards = regression_data()
    agent = make_agent("diag", 4, 3, settings, seed=0)
    agent.observe(contexts, arms, rewards)
    with pytest.raises(PacboundError, match="diverged"), warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.train()


def test_settings_come_from_yaml_values() -> None:
    settings = AgentSettings.from_mapping({"noise": 1, "initial_scale": 0.1, "flow_hidden": [20]})
    assert settings.noise == 1.0
    assert settings.initial_scale == (0.1,)
    assert AgentSettings.from_mapping(settings.to_mapping()) == settings


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"learning_rat": 0.1}, "did you mean 'learning_rate'"),
        ({"learning_rate": 0}, "learning_rate must be a positive number"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"noise": float("nan")}, "noise"),
        ({"slowing": -1}, "slowing must be a number of 0 or more"),
        ({"batch": 2.5}, "batch"),
        ({"hidden": 1}, "hidden"),
        ({"prior_variance": [1, 1, 1]}, "each of the two layers"),
        ({"share": 1.5}, "share"),
        ({"initializer": "ones"}, "initializer"),
        ({"reset_optimizer": 1}, "true or false"),
        ({"batch": 8, "weight_draws": 3}, "divide"),
        ({"context_length": 10, "context_scale": 2}, "exclude each other"),
        ({"measurement_points": 16, "function_draws": 23}, "function_draws must be 24 or more"),
    ],
)
def test_bad_settings_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(PacboundError, match=message):
        AgentSettings.from_mapping(values)


def test_an_unknown_agent_is_refused() -> None:
    with pytest.raises(PacboundError, match="did you mean 'k-linear'"):
        make_agent("k-liner", 4, 3, AgentSettings(), seed=0)
