"""Diag in closed form: every weight has its own variance V = S²."""

from __future__ import annotations

import numpy as np

from pacbound.experiments.bandit.closed_form.layer import Array, Layer
from pacbound.experiments.bandit.closed_form.parameters import FlatParameters
from pacbound.posteriors import Diag, Posterior

__all__ = ["DiagLayer"]


class DiagLayer(Layer):
    """y = xMᵀ + √(x² Vᵀ)∘ε."""

    def prepare(self, posterior: Posterior, parameters: FlatParameters) -> None:
        assert isinstance(posterior, Diag)
        self.log_scale, self.by_log_scale = parameters.of(posterior.log_scale)
        self.variance = np.empty_like(self.log_scale)
        self.squares = np.empty_like(self.inputs)
        self.deviation = np.empty_like(self.outputs)
        self.spread = np.empty_like(self.outputs)

    def refresh(self) -> None:
        np.add(self.log_scale, self.log_scale, out=self.variance)
        np.exp(self.variance, out=self.variance)

    def sample(self, inputs: Array) -> Array:
        self.inputs = inputs
        np.square(inputs, out=self.squares)
        np.matmul(self.squares, self.variance.T, out=self.deviation)
        np.sqrt(self.deviation, out=self.deviation)
        np.multiply(self.deviation, self.noise, out=self.spread)
        np.matmul(inputs, self.mean.T, out=self.outputs)
        self.outputs += self.spread
        return self.outputs

    def back_sample(self, by_outputs: Array) -> None:
        np.matmul(by_outputs.T, self.inputs, out=self.by_mean)
        by_square = np.multiply(by_outputs, self.noise, out=self.spread)
        by_square /= self.deviation  # twice the gradient of deviation²
        np.matmul(by_square.T, self.squares, out=self.by_log_scale)
        self.by_log_scale *= self.variance

    def back_means(self, by_mean: Array, by_variance: Array) -> Array:
        np.matmul(by_mean.T, self.inputs, out=self.by_mean)
        np.square(self.inputs, out=self.squares)
        np.matmul(by_variance.T, self.squares, out=self.by_log_scale)
        self.by_log_scale *= self.variance
        self.by_log_scale *= 2
        by_inputs = by_variance @ self.variance
        by_inputs *= self.inputs
        by_inputs *= 2
        by_inputs += by_mean @ self.mean
        return by_inputs

    def complete(self, weight: float) -> None:
        self.by_mean += (weight / self.prior_variance) * self.mean
        self.by_log_scale += (weight / self.prior_variance) * self.variance
        self.by_log_scale -= weight
