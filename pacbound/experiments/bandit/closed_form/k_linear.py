"""K-Linear in closed form: W = M + A (S∘E) Bᵀ, A and B unit lower triangular."""

from __future__ import annotations

import numpy as np

from pacbound.experiments.bandit.closed_form.layer import Array, Layer
from pacbound.experiments.bandit.closed_form.parameters import FlatParameters
from pacbound.posteriors import KLinear, Posterior

__all__ = ["KLinearLayer"]


class KLinearLayer(Layer):
    """y = xMᵀ + (√((xB)² Vᵀ)∘ε) Aᵀ, V = S²."""

    def prepare(self, posterior: Posterior, parameters: FlatParameters) -> None:
        assert isinstance(posterior, KLinear)
        outer, inner = posterior.triangle(0), posterior.triangle(1)
        assert outer is not None and inner is not None
        self.log_scale, self.by_log_scale = parameters.of(posterior.log_scale)
        self.below_out, self.by_out = parameters.of(outer.below)
        self.below_in, self.by_in = parameters.of(inner.below)
        self.variance = np.empty_like(self.log_scale)
        self.out_map = np.empty_like(self.below_out)  # A
        self.in_map = np.empty_like(self.below_in)  # B
        self.out_mask = np.tri(len(self.out_map), k=-1, dtype=np.float32)
        self.in_mask = np.tri(len(self.in_map), k=-1, dtype=np.float32)
        self.mixed = np.empty_like(self.inputs)  # xB
        self.squares = np.empty_like(self.inputs)  # (xB)²
        self.by_mixed = np.empty_like(self.inputs)
        self.deviation = np.empty_like(self.outputs)
        self.spread = np.empty_like(self.outputs)
        self.by_spread = np.empty_like(self.outputs)

    def refresh(self) -> None:
        np.add(self.log_scale, self.log_scale, out=self.variance)
        np.exp(self.variance, out=self.variance)
        np.copyto(self.out_map, self.below_out)
        np.fill_diagonal(self.out_map, 1)
        np.copyto(self.in_map, self.below_in)
        np.fill_diagonal(self.in_map, 1)

    def sample(self, inputs: Array) -> Array:
        self._mix(inputs)
        np.sqrt(self.deviation, out=self.deviation)
        np.multiply(self.deviation, self.noise, out=self.spread)
        np.matmul(inputs, self.mean.T, out=self.outputs)
        self.outputs += self.spread @ self.out_map.T
        return self.outputs

    def back_sample(self, by_outputs: Array) -> None:
        np.matmul(by_outputs.T, self.inputs, out=self.by_mean)
        np.matmul(by_outputs.T, self.spread, out=self.by_out)
        by_square = np.matmul(by_outputs, self.out_map, out=self.by_spread)
        by_square *= self.noise
        by_square /= self.deviation  # twice the gradient of deviation²
        self._back_mix(by_square)

    def back_means(self, by_mean: Array, by_variance: Array) -> Array:
        self._mix(self.inputs)
        np.matmul(by_mean.T, self.inputs, out=self.by_mean)
        np.matmul(by_variance.T, self.deviation, out=self.by_out)
        self.by_out *= self.out_map
        self.by_out *= 2
        by_square = np.matmul(by_variance, np.square(self.out_map), out=self.by_spread)
        by_square *= 2
        self._back_mix(by_square)
        by_inputs = self.by_mixed @ self.in_map.T
        by_inputs += by_mean @ self.mean
        return by_inputs

    def complete(self, weight: float) -> None:
        per_variance = weight / self.prior_variance
        out_squares = np.square(self.out_map).sum(0)  # of every column of A
        in_squares = np.square(self.in_map).sum(0)
        self.by_mean += per_variance * self.mean
        rows = (per_variance * in_squares) @ self.variance.T  # (out,)
        columns = (per_variance * out_squares) @ self.variance  # (in,)
        self.by_out += self.out_map * rows
        self.by_out *= self.out_mask
        self.by_in += self.in_map * columns
        self.by_in *= self.in_mask
        in_squares *= per_variance
        trace = self.variance * out_squares[:, None]
        trace *= in_squares
        trace -= weight
        self.by_log_scale += trace

    def _mix(self, inputs: Array) -> None:
        """xB, its squares, and the variance of (xB)(S∘E)ᵀ, stored where the deviation was."""
        self.inputs = inputs
        np.matmul(inputs, self.in_map, out=self.mixed)
        np.square(self.mixed, out=self.squares)
        np.matmul(self.squares, self.variance.T, out=self.deviation)

    def _back_mix(self, by_square: Array) -> None:
        """From twice the gradient of that variance to those of S, B and xB."""
        np.matmul(by_square.T, self.squares, out=self.by_log_scale)
        self.by_log_scale *= self.variance
        np.matmul(by_square, self.variance, out=self.by_mixed)
        self.by_mixed *= self.mixed
        np.matmul(self.inputs.T, self.by_mixed, out=self.by_in)
