"""K-Diag in closed form: the weights' variances are an outer product u² v²ᵀ."""

from __future__ import annotations

import numpy as np

from pacbound.experiments.bandit.closed_form.layer import Array, Layer
from pacbound.experiments.bandit.closed_form.parameters import FlatParameters
from pacbound.posteriors import KDiag, Posterior

__all__ = ["KDiagLayer"]


class KDiagLayer(Layer):
    """y = xMᵀ + ‖x∘v‖ u∘ε: one length for every example, one scale for every output."""

    def prepare(self, posterior: Posterior, parameters: FlatParameters) -> None:
        assert isinstance(posterior, KDiag)
        out, into = (parameters.of(log_scale) for log_scale in posterior.log_scales)
        self.log_out, self.by_log_out = out
        self.log_in, self.by_log_in = into
        self.squares = np.empty_like(self.inputs)
        self.spread = np.empty_like(self.outputs)
        self.length = np.empty(len(self.inputs), np.float32)  # ‖x∘v‖, or its square

    def refresh(self) -> None:
        self.out_scale = np.exp(self.log_out)  # u
        self.out_variance = np.square(self.out_scale)
        self.in_variance = np.exp(2 * self.log_in)  # v²

    def sample(self, inputs: Array) -> Array:
        self.inputs = inputs
        np.square(inputs, out=self.squares)
        np.matmul(self.squares, self.in_variance, out=self.length)
        np.sqrt(self.length, out=self.length)
        np.multiply(self.noise, self.length[:, None], out=self.spread)
        self.spread *= self.out_scale
        np.matmul(inputs, self.mean.T, out=self.outputs)
        self.outputs += self.spread
        return self.outputs

    def back_sample(self, by_outputs: Array) -> None:
        np.matmul(by_outputs.T, self.inputs, out=self.by_mean)
        by_scaled = np.multiply(by_outputs, self.noise, out=self.spread)
        np.multiply(self.length @ by_scaled, self.out_scale, out=self.by_log_out)
        by_square = by_scaled @ self.out_scale
        by_square /= self.length  # twice the gradient of length²
        np.multiply(by_square @ self.squares, self.in_variance, out=self.by_log_in)

    def back_means(self, by_mean: Array, by_variance: Array) -> Array:
        np.matmul(by_mean.T, self.inputs, out=self.by_mean)
        np.square(self.inputs, out=self.squares)
        np.matmul(self.squares, self.in_variance, out=self.length)
        np.multiply(self.length @ by_variance, 2 * self.out_variance, out=self.by_log_out)
        by_square = by_variance @ (2 * self.out_variance)
        np.multiply(by_square @ self.squares, self.in_variance, out=self.by_log_in)
        by_inputs = self.inputs * self.in_variance
        by_inputs *= by_square[:, None]
        by_inputs += by_mean @ self.mean
        return by_inputs

    def complete(self, weight: float) -> None:
        outputs, inputs = self.mean.shape
        per_variance = weight / self.prior_variance
        self.by_mean += per_variance * self.mean
        self.by_log_out += (per_variance * float(self.in_variance.sum())) * self.out_variance
        self.by_log_out -= weight * inputs
        self.by_log_in += (per_variance * float(self.out_variance.sum())) * self.in_variance
        self.by_log_in -= weight * outputs
