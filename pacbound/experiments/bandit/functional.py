"""A network whose prior is a Gaussian process: the KL is between functions, not weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import TrainingDiverged
from pacbound.experiments.bandit.closed_form.diag import DiagLayer
from pacbound.experiments.bandit.memory import Memory
from pacbound.experiments.bandit.network import RewardNetwork
from pacbound.experiments.bandit.scores import SCORES
from pacbound.experiments.bandit.settings import AgentSettings

__all__ = ["FunctionalNetwork", "kernel"]

Array = NDArray[np.float32]
ROWS = 1000  # of memory, which the length of the kernel is measured on


def kernel(left: Array, right: Array, length: float, variance: float) -> NDArray[np.float64]:
    """The prior's covariance: half of it a constant, half exp(−‖x − y‖²/2ℓ²)."""
    x, y = left.astype(np.float64), right.astype(np.float64)
    squares = (x**2).sum(1)[:, None] + (y**2).sum(1) - 2 * x @ y.T
    covariance: NDArray[np.float64] = (variance / 2) * (
        1 + np.exp(-np.maximum(squares, 0) / (2 * length**2))
    )
    return covariance


class FunctionalNetwork(RewardNetwork):
    """Diag with the functional ELBO: S. Sun, G. Zhang, J. Shi and R. Grosse, "Functional
    variational Bayesian neural networks" (2019).

    The KL is that of the outputs at measurement points, f = f(x_1), …, f(x_M), with a little noise
    so that they have a density. Its gradient is that of f times ∇ ln q(f) − ∇ ln p(f): the first is
    estimated from draws of the network, the second is −K⁻¹f. Half of the points are observed
    contexts; the others have every coordinate from another context, and so are where there are no
    observations. The prior takes arms to be independent, and the KLs of the arms are added up.

    Arguments: as for RewardNetwork.
    """

    def __init__(self, size: int, arms: int, settings: AgentSettings, seed: str) -> None:
        super().__init__(size, arms, "diag", settings, seed)
        self._length = 1.0

    def prepare(self, memory: Memory) -> None:
        """The length of the kernel is the distance of typical contexts."""
        spread = float(memory.inputs[:ROWS].var(0, dtype=np.float64).sum())
        self._length = self.settings.kernel_length * np.sqrt(2 * spread or 1.0)

    def gradient(self, inputs: Array, chosen: Array, rewards: Array, weight: float) -> None:
        """As RewardNetwork.gradient, with the KL at measurement points drawn from the inputs."""
        super().gradient(inputs, chosen, rewards, 0.0)
        self.add_divergence(self._measurement_points(inputs), weight)

    def add_divergence(self, points: Array, weight: float) -> None:
        """Add an estimate of the gradient of weight·KL(q(f) ‖ p(f)), f at these points."""
        hidden, output = self.hidden, self.output
        assert isinstance(hidden, DiagLayer) and isinstance(output, DiagLayer)
        noise, output_noise = self._half_noise(hidden), self._half_noise(output)
        # Both draws of a pair have the same spread, so points meet half of the weights.
        spread = np.matmul(points, _spread(hidden, noise).transpose(0, 2, 1))
        sums = self._pairs(points @ hidden.mean.T, spread)  # (draws, M, hidden)
        alive = sums > 0
        features = np.ones((*sums.shape[:2], sums.shape[2] + 1), np.float32)
        np.multiply(sums, alive, out=features[:, :, :-1])
        weights = self._pairs(output.mean, _spread(output, output_noise))  # (draws, arms, hidden)
        drawn = np.matmul(features, weights.transpose(0, 2, 1))  # (draws, M, arms)
        by_drawn = self._by_drawn(points, drawn) * np.float32(weight / len(drawn))
        by_sums = np.matmul(by_drawn, weights[:, :, :-1]) * alive
        by_weights = np.matmul(by_drawn.transpose(0, 2, 1), features)
        output.by_mean += by_weights.sum(0)
        _add_to_scale(output, output_noise, _difference(by_weights))
        hidden.by_mean += by_sums.sum(0).T @ points
        _add_to_scale(hidden, noise, np.matmul(_difference(by_sums).transpose(0, 2, 1), points))

    def _by_drawn(self, points: Array, drawn: Array) -> Array:
        """∇ ln q(f) − ∇ ln p(f) for every draw of f, (draws, M, arms)."""
        settings = self.settings
        covariance = kernel(points, points, self._length, settings.kernel_variance)
        covariance[np.diag_indices_from(covariance)] += settings.measurement_noise**2
        try:
            factor = np.linalg.inv(np.linalg.cholesky(covariance))
        except np.linalg.LinAlgError as error:
            raise TrainingDiverged(
                "the prior over functions is singular: a larger measurement_noise may help"
            ) from error
        noise = np.empty_like(drawn)
        self.stream.fill(noise)
        noise *= np.float32(settings.measurement_noise)
        noise += drawn
        scores = SCORES[settings.score](noise.transpose(2, 0, 1))  # (arms, draws, M)
        precision = (factor.T @ factor).astype(np.float32)  # K⁻¹
        by_drawn: Array = np.matmul(precision, noise)
        by_drawn += scores.transpose(1, 2, 0)
        return by_drawn

    def _measurement_points(self, inputs: Array) -> Array:
        count = self.settings.measurement_points
        points = inputs[self.stream.generator.integers(len(inputs), size=count)]
        mixed = points[: count // 2]
        rows = self.stream.generator.integers(len(inputs), size=mixed.shape)
        mixed[:] = inputs[rows, np.arange(inputs.shape[1])]
        return points

    def _half_noise(self, layer: DiagLayer) -> Array:
        """Standard normal numbers ε for the weights, (half of the draws, out, in).

        One half of the networks has the weights M + S∘ε, the other half M − S∘ε.
        """
        half = (self.settings.function_draws + 1) // 2
        noise = np.empty((half, *layer.mean.shape), np.float32)
        self.stream.fill(noise)
        return noise

    def _pairs(self, mean: Array, spread: Array) -> Array:
        """mean + spread, then mean − spread: as many as there are draws."""
        count, half = self.settings.function_draws, len(spread)
        both = np.empty((count, *spread.shape[1:]), np.float32)
        np.add(mean, spread, out=both[:half])
        np.subtract(mean, spread[: count - half], out=both[half:])
        return both


def _spread(layer: DiagLayer, noise: Array) -> Array:
    spread: Array = noise * np.exp(layer.log_scale)
    return spread


def _difference(by_draws: Array) -> Array:
    """The gradient of the spread that the two draws of a pair share; it replaces the first half."""
    half = (len(by_draws) + 1) // 2
    first, second = by_draws[:half], by_draws[half:]
    first[: len(second)] -= second
    return first


def _add_to_scale(layer: DiagLayer, noise: Array, by_spread: Array) -> None:
    """From the gradient of S∘ε to that of ln S."""
    by_spread *= noise
    layer.by_log_scale += by_spread.sum(0) * np.exp(layer.log_scale)
