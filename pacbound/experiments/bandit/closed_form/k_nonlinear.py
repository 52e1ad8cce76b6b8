"""K-Nonlinear in closed form: weights are drawn, and gradients go back through the flows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.closed_form.coupling import CouplingMap
from pacbound.experiments.bandit.closed_form.k_linear import KLinearLayer
from pacbound.experiments.bandit.closed_form.layer import Array
from pacbound.experiments.bandit.closed_form.parameters import FlatParameters
from pacbound.experiments.bandit.stream import Stream
from pacbound.flows import Coupling
from pacbound.posteriors import KNonlinear, Posterior

__all__ = ["KNonlinearLayer"]


class KNonlinearLayer(KLinearLayer):
    """W = M + G(A (S∘E) Bᵀ), G shift-only couplings along the columns, then along the rows.

    W is not normal, so the law of the outputs has no closed form: each part of the batch has one
    draw. The KL is the posterior's estimate: the second moment of the linear part, exactly, plus
    the difference made by the flows, averaged over the draws.
    """

    def prepare(self, posterior: Posterior, parameters: FlatParameters) -> None:
        super().prepare(posterior, parameters)
        assert isinstance(posterior, KNonlinear)
        self.unit = np.float32(posterior.unit)
        self.flows: dict[int, list[CouplingMap]] = {0: [], 1: []}
        for mode, chain in posterior.chains():
            for step in chain.flows():
                assert isinstance(step, Coupling)
                self.flows[mode].append(CouplingMap(step, parameters))
        self.noise = np.empty((self.draws, *self.mean.shape), np.float32)  # E

    def draw_noise(self, stream: Stream) -> None:
        stream.fill(self.noise)

    def draw_for_means(self, stream: Stream) -> None:
        self.draw_noise(stream)

    def weights(self, noise: Array) -> Array:
        """W for every standard normal E: (draws, out, in), like all arrays inside."""
        outputs, inputs = self.mean.shape
        self.scaled = noise * np.exp(self.log_scale)  # S∘E
        self.half = np.matmul(self.out_map, self.scaled)  # A (S∘E)
        self.linear = np.matmul(self.half, self.in_map.T)
        columns = np.ascontiguousarray((self.linear / self.unit).transpose(0, 2, 1))
        for flow in self.flows[0]:
            flow.forward(columns.reshape(-1, outputs))
        rows = np.ascontiguousarray(columns.transpose(0, 2, 1))
        for flow in self.flows[1]:
            flow.forward(rows.reshape(-1, inputs))
        rows *= self.unit
        self.bent = rows  # W − M
        weights: Array = self.mean + rows
        return weights

    def sample(self, inputs: Array) -> Array:
        self.inputs = inputs
        self.drawn = self.weights(self.noise)
        outputs: Array = np.matmul(self._parts(inputs), self.drawn.transpose(0, 2, 1))
        return outputs.reshape(len(inputs), -1)

    def back_sample(self, by_outputs: Array) -> None:
        by_parts = self._parts(by_outputs)
        self.by_weights = np.matmul(by_parts.transpose(0, 2, 1), self._parts(self.inputs))

    def means(self, inputs: Array) -> Array:
        return self.sample(inputs)

    def back_means(self, by_mean: Array, by_variance: Array) -> Array:
        self.back_sample(by_mean)
        by_inputs: Array = np.matmul(self._parts(by_mean), self.drawn)
        return by_inputs.reshape(self.inputs.shape)

    def complete(self, weight: float) -> None:
        draws, outputs, inputs = self.drawn.shape
        share = np.float32(weight / self.prior_variance / draws)
        np.sum(self.by_weights, axis=0, out=self.by_mean)
        self.by_mean += share * (self.bent - self.linear).sum(0)
        # From here on `by_rows` is the gradient of G's output, then of its input.
        by_rows = self.by_weights
        by_rows += share * self.drawn
        for flow in reversed(self.flows[1]):
            flow.backward(by_rows.reshape(-1, inputs))
        by_columns = np.ascontiguousarray(by_rows.transpose(0, 2, 1))
        for flow in reversed(self.flows[0]):
            flow.backward(by_columns.reshape(-1, outputs))
        self._scale_flow_gradients()
        by_linear = by_columns.transpose(0, 2, 1) - share * (self.mean + self.linear)
        by_half = np.matmul(by_linear, self.in_map)
        self.by_in[:] = _sum_of_products(by_linear, self.half)
        self.by_out[:] = np.matmul(by_half, self.scaled.transpose(0, 2, 1)).sum(0)
        by_scaled = np.matmul(self.out_map.T, by_half)
        by_scaled *= self.scaled
        np.sum(by_scaled, axis=0, out=self.by_log_scale)
        super().complete(weight)

    def _scale_flow_gradients(self) -> None:
        """The flows work in units of the initial scale: dW = unit · d(rows)."""
        for flow in (*self.flows[0], *self.flows[1]):
            for _, gradient in (*flow.weights, *flow.biases):
                gradient *= self.unit

    def _parts(self, rows: Array) -> Array:
        """A batch in as many parts as there are draws."""
        return rows.reshape(self.draws, -1, rows.shape[1])


def _sum_of_products(left: Array, right: Array) -> NDArray[np.float32]:
    """Σ_d leftᵀ right over the draws, as one product."""
    inputs = left.shape[-1]
    product: NDArray[np.float32] = left.reshape(-1, inputs).T @ right.reshape(-1, inputs)
    return product
