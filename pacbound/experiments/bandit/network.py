"""The network that predicts every arm's reward, trained only on the pulled arm's output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pacbound.errors import TrainingDiverged
from pacbound.experiments.bandit.closed_form import FlatParameters, Layer, layer_of
from pacbound.experiments.bandit.closed_form.adam import Adam
from pacbound.experiments.bandit.closed_form.k_nonlinear import KNonlinearLayer
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.bandit.stream import State, Stream, prefixed, under
from pacbound.networks.initializers import prior_center
from pacbound.networks.mlp import mlp
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import posterior_named
from pacbound.seeds import derive

__all__ = ["RewardNetwork"]

Array = NDArray[np.float32]
LEAST = 1e-15  # of a learned noise, whose square must be a float32


class RewardNetwork:
    """One hidden layer of ReLU units and one output per arm, with a posterior.

    It minimises the negative ELBO per observation,

        (1/n) Σ_i E (r_i − y_i)² / 2σ²  +  (β/n) KL(q ‖ N(0, λI)),

    where y_i is the output of the pulled arm and n the number of observations so far. The network
    is a StochasticNetwork; only its training steps are written out in closed form.

    Arguments:
        size: The length of a context.
        arms: The number of outputs.
        posterior: The name of the family.
        settings: Hyper-parameters.
        seed: A derived seed for the initial weights, the minibatches and all noise.
    """

    def __init__(
        self, size: int, arms: int, posterior: str, settings: AgentSettings, seed: str
    ) -> None:
        module = mlp((size,), [settings.hidden], arms)
        start = prior_center(module, settings.initializer, int(derive("start", seed)[:8], 16))
        start = {name: settings.initial_gain * mean for name, mean in start.items()}
        flow = {
            "kind": "realnvp",
            "hidden": settings.flow_hidden,
            "steps": settings.flow_steps,
            "seed": seed,
        }
        family = posterior_named(posterior, **flow)
        self.network = StochasticNetwork(module, start, family, settings.initial_scale)
        self.settings = settings
        self.stream = Stream(derive("training", seed))
        self.parameters = FlatParameters(self.network)
        self.optimizer = Adam(len(self.parameters.values))
        variances = _prior_variances(settings, size)
        self.noise = settings.noise
        layers = self.network.layers.values()
        posteriors = [layer.posterior_of(name) for layer in layers for name in layer.posteriors]
        self.hidden, self.output = (
            layer_of(q, self.parameters, settings.batch, variance, settings.weight_draws)
            for q, variance in zip(posteriors, variances, strict=True)
        )
        batch = settings.batch
        self._eye = np.eye(arms, dtype=np.float32)
        self._inputs = np.empty((batch, size + 1), np.float32)
        self._rewards = np.empty((batch, 1), np.float32)
        self._chosen = np.empty((batch, arms), np.float32)
        self._features = np.ones((batch, settings.hidden + 1), np.float32)
        self._alive = np.empty((batch, settings.hidden), np.float32)  # where ReLU is active

    @property
    def layers(self) -> tuple[Layer, Layer]:
        """The hidden layer and the output layer."""
        return self.hidden, self.output

    def train(self, memory: Memory) -> None:
        """Train on the minibatches of the settings, drawn with replacement from all of memory."""
        memory.settle()
        self.prepare(memory)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._train(memory)
        if not np.isfinite(self.parameters.values).all():
            raise TrainingDiverged("training diverged: a smaller learning_rate may help")

    def prepare(self, memory: Memory) -> None:
        """Compute what depends on the contexts, before each training."""

    def _train(self, memory: Memory) -> None:
        settings = self.settings
        rewards = memory.rewards
        if settings.reset_optimizer:
            self.optimizer.reset()
        batches = self.stream.generator.integers(
            memory.count, size=(settings.minibatches, settings.batch)
        )
        weight = settings.beta / memory.count
        first_rate = settings.learning_rate / (1 + settings.slowing * memory.count / 1000)
        for i, rows in enumerate(batches):
            np.take(memory.inputs, rows, axis=0, out=self._inputs, mode="clip")
            np.take(rewards, rows, out=self._rewards[:, 0], mode="clip")
            np.take(self._eye, memory.arms[rows], axis=0, out=self._chosen, mode="clip")
            self.hidden.draw_noise(self.stream)
            self.output.draw_for_means(self.stream)
            self.gradient(self._inputs, self._chosen, self._rewards, weight)
            rate = first_rate / (1 + settings.decay * i)
            self.optimizer.step(self.parameters.values, self.parameters.gradient, rate)
        if settings.learn_noise:
            self._learn_noise(memory)

    def _learn_noise(self, memory: Memory) -> None:
        """σ² becomes the mean of E(r − y)², with the setting's as some earlier observations.

        The expectation is over weights and a minibatch, one draw for each row.
        """
        rows = self.stream.generator.integers(memory.count, size=self.settings.batch)
        drawn = self.predict(memory.inputs[rows])[np.arange(len(rows)), memory.arms[rows]]
        residual = float(np.square(drawn - memory.rewards[rows]).mean())
        before = 2 * self.settings.gamma_shape
        total = before * self.settings.noise**2 + memory.count * residual
        self.noise = math.sqrt(total / (before + memory.count))

    def gradient(self, inputs: Array, chosen: Array, rewards: Array, weight: float) -> None:
        """Set the gradient of the loss at the drawn noise of the layers.

        Arguments:
            inputs: (batch, size + 1), the last column 1
            chosen: (batch, arms), 1 for the pulled arm, else 0
            rewards: (batch, 1)
            weight: The weight of the KL: β/n.
        """
        for layer in self.layers:
            layer.refresh()
        sampled = self.hidden.sample(inputs)
        np.greater(sampled, 0, out=self._alive)
        np.multiply(sampled, self._alive, out=self._features[:, :-1])
        means = self.output.means(self._features)
        scale = np.float32(1 / (self.noise**2 * len(inputs)))
        by_mean = np.subtract(means, rewards)
        by_mean *= chosen
        by_mean *= scale
        by_features = self.output.back_means(by_mean, (scale / 2) * chosen)
        self._alive *= by_features[:, :-1]
        self.hidden.back_sample(self._alive)
        for layer in self.layers:
            layer.complete(weight)

    def predict(self, inputs: Array) -> Array:
        """Every arm's reward for every input, each with an independent draw of the weights."""
        if isinstance(self.hidden, KNonlinearLayer):
            return self._predict_drawn(inputs)
        with torch.no_grad():
            contexts = torch.from_numpy(inputs[:, :-1])
            outputs: Array = self.network(contexts, self.stream).numpy()
        return outputs

    def features(self, inputs: Array) -> Array:
        """The hidden units of the mean network, and a 1: (n, hidden + 1)."""
        features = np.ones((len(inputs), self.settings.hidden + 1), np.float32)
        np.maximum(inputs @ self.hidden.mean.T, 0, out=features[:, :-1])
        return features

    def _predict_drawn(self, inputs: Array) -> Array:
        """The same if weights must be drawn: all at once, one draw per input."""
        values = inputs
        for layer in self.layers:
            assert isinstance(layer, KNonlinearLayer)
            layer.refresh()
            noise = np.empty((len(inputs), *layer.mean.shape), np.float32)
            self.stream.fill(noise)
            outputs: Array = np.matmul(layer.weights(noise), values[:, :, None])[:, :, 0]
            values = np.ones((len(inputs), outputs.shape[1] + 1), np.float32)
            np.maximum(outputs, 0, out=values[:, :-1])
        return outputs

    def state(self) -> State:
        """Parameters, optimiser and randomness."""
        return {
            "parameters": self.parameters.values,
            "noise": np.array(self.noise),
            **prefixed("optimizer", self.optimizer.state()),
            **prefixed("stream", self.stream.state()),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a saved state; ValueError if no training can lead to it."""
        noise = float(state["noise"])
        if not (LEAST < noise < 1 / LEAST if self.settings.learn_noise else noise == self.noise):
            raise ValueError("its noise cannot be")
        self.noise = noise
        self.parameters.values[:] = state["parameters"]
        self.optimizer.restore(under("optimizer", state))
        self.stream.restore(under("stream", state))


def _prior_variances(settings: AgentSettings, size: int) -> tuple[float, float]:
    """λ of the hidden layer and of the output layer."""
    first, last = settings.prior_variance[0], settings.prior_variance[-1]
    if not settings.prior_by_width:
        return first, last
    return first / (size + 1), last / (settings.hidden + 1)
