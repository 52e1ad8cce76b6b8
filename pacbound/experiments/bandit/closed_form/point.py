"""The layer without noise: an ordinary dense layer."""

from __future__ import annotations

import numpy as np

from pacbound.experiments.bandit.closed_form.layer import Array, Layer
from pacbound.experiments.bandit.stream import Stream

__all__ = ["PointLayer"]


class PointLayer(Layer):
    """W = M. The rest of the KL is the L2 penalty."""

    def draw_noise(self, stream: Stream) -> None:
        """No noise."""

    def sample(self, inputs: Array) -> Array:
        return self.means(inputs)

    def back_sample(self, by_outputs: Array) -> None:
        np.matmul(by_outputs.T, self.inputs, out=self.by_mean)

    def back_means(self, by_mean: Array, by_variance: Array) -> Array:
        self.back_sample(by_mean)
        return by_mean @ self.mean

    def complete(self, weight: float) -> None:
        self.by_mean += (weight / self.prior_variance) * self.mean
