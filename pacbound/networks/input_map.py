"""The fixed map in front of a network: alignment, a smooth prior and an input scale."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pacbound.data import as_floats
from pacbound.errors import BadInput
from pacbound.networks.alignment import align

__all__ = ["map_inputs", "smooth_root"]

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


def map_inputs(
    inputs: np.ndarray, scale: float, smoothing: float, alignment: str = "none"
) -> Tensor:
    """The tensors a network sees: inputs as floats, aligned, smoothed along the image, scaled."""
    mapped = torch.from_numpy(align(as_floats(inputs), alignment))
    if smoothing > 0:
        if mapped.dim() < 3:
            raise BadInput(
                f"smoothing {smoothing} needs images; these inputs have shape "
                f"{tuple(mapped.shape[1:])}: use smoothing=0"
            )
        side = mapped.shape[-2:]
        root = torch.from_numpy(smooth_root(side, smoothing)).to(mapped.dtype)
        shape = mapped.shape
        mapped = (mapped.reshape(-1, math.prod(side)) @ root).reshape(shape)
    return mapped * scale if scale != 1 else mapped
