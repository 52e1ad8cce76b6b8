"""A shift-only coupling and its gradient, in place."""

from __future__ import annotations

import numpy as np

from pacbound.experiments.bandit.closed_form.layer import Array
from pacbound.experiments.bandit.closed_form.parameters import FlatParameters
from pacbound.flows import Coupling

__all__ = ["CouplingMap"]


class CouplingMap:
    """Every second coordinate of each row, plus a tanh network of the others."""

    def __init__(self, coupling: Coupling, parameters: FlatParameters) -> None:
        shift = coupling.shift
        self.moved = slice(coupling.moved, None, 2)
        self.kept = slice(1 - coupling.moved, None, 2)
        self.weights = [parameters.of(weight) for weight in shift.weights]
        self.biases = [parameters.of(bias) for bias in shift.biases]
        self._layers: list[Array] = []  # the input of every layer, at the last call

    def forward(self, rows: Array) -> None:
        """Map rows in place."""
        layer = np.ascontiguousarray(rows[:, self.kept])
        self._layers = [layer]
        for (weight, _), (bias, _) in zip(self.weights, self.biases, strict=False):
            layer = layer @ weight.T
            layer += bias
            np.tanh(layer, out=layer)
            self._layers.append(layer)
        rows[:, self.moved] += layer @ self.weights[-1][0].T

    def backward(self, by_rows: Array) -> None:
        """Convert the gradient of the mapped rows to that of the rows; set the parameters'."""
        gradient = np.ascontiguousarray(by_rows[:, self.moved])
        for i in reversed(range(len(self.weights))):
            weight, by_weight = self.weights[i]
            np.matmul(gradient.T, self._layers[i], out=by_weight)
            gradient = gradient @ weight
            if i > 0:
                slope = np.square(self._layers[i])
                np.subtract(1, slope, out=slope)
                gradient *= slope
                np.sum(gradient, axis=0, out=self.biases[i - 1][1])
        by_rows[:, self.kept] += gradient
