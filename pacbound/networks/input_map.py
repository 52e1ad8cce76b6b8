"""The fixed map before a network: alignment, a shift, a smooth prior and an input scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from pacbound.data import as_floats
from pacbound.errors import DataError
from pacbound.networks.alignment import align

__all__ = ["InputMap", "map_inputs", "smooth_root"]

ROUGHNESS = 0.1  # the share of independent variation in a smooth prior


def smooth_root(side: Sequence[int], length: float) -> np.ndarray:
    """K^½ for the kernel K = exp(−distance²/2ℓ²) + ε·identity over a pixel grid, mean diagonal 1.

    A Gaussian prior N(Θ0, λ K) over the first layer's rows says that neighbouring pixels have
    similar weights. With W = V K^½ the prior of V is isotropic and the layer sees x K^½. The
    kernel is fixed by geometry alone, so the prior stays free of data.
    """
    height, width = side
    factors = []
    for size in (height, width):
        place = np.arange(size)
        kernel = np.exp(-((place[:, None] - place) ** 2) / (2 * length**2))
        factors.append(np.linalg.eigh(kernel))
    (rows, row_vectors), (columns, column_vectors) = factors
    spectrum = np.outer(np.clip(rows, 0, None), np.clip(columns, 0, None)).ravel()
    vectors = np.kron(row_vectors, column_vectors)
    root: np.ndarray = vectors * np.sqrt((spectrum + ROUGHNESS) / (1 + ROUGHNESS)) @ vectors.T
    return root


class InputMap(nn.Module):
    """The linear part of the map: inputs shifted, smoothed along the image, then scaled.

    Arguments:
        input_shape: The shape of one input.
        scale: The factor of every input.
        smoothing: The kernel's length in pixels; 0 for none.
        shift: What is subtracted from every input.
    """

    def __init__(
        self, input_shape: Sequence[int], scale: float, smoothing: float, shift: float = 0.0
    ) -> None:
        super().__init__()
        self.scale, self.shift = scale, shift
        self.root: Tensor | None = None
        if smoothing > 0:
            if len(input_shape) < 2:
                raise DataError(
                    f"smoothing {smoothing} needs images; these inputs have shape "
                    f"{tuple(input_shape)}: use smoothing=0"
                )
            self.root = torch.from_numpy(smooth_root(input_shape[-2:], smoothing)).float()

    def forward(self, inputs: Tensor) -> Tensor:
        mapped = inputs - self.shift if self.shift else inputs
        if self.root is not None:
            mapped = (mapped.reshape(-1, len(self.root)) @ self.root).reshape(inputs.shape)
        return mapped * self.scale if self.scale != 1 else mapped


def map_inputs(
    inputs: np.ndarray, scale: float, smoothing: float, alignment: str = "none", shift: float = 0.0
) -> Tensor:
    """The network's input tensors: floats, aligned, shifted, smoothed along the image, scaled."""
    mapped = torch.from_numpy(align(as_floats(inputs), alignment))
    linear: Tensor = InputMap(mapped.shape[1:], scale, smoothing, shift)(mapped)
    return linear
