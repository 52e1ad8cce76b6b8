"""Corrupted test images: noise, blur and lower contrast, each at five strengths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from pacbound.data import as_floats
from pacbound.errors import DataError, unknown_name

__all__ = ["CORRUPTIONS", "STRENGTHS", "corrupted"]

Images = NDArray[np.float32]
STRENGTHS = (1, 2, 3, 4, 5)

# By strength, as in "Benchmarking Neural Network Robustness to Common Corruptions and
# Perturbations" (Hendrycks and Dietterich 2019), for images of 32×32.
NOISE = (0.04, 0.06, 0.08, 0.09, 0.10)  # standard deviation, of pixels from 0 to 1
BLUR = (0.4, 0.6, 0.7, 0.8, 1.0)  # standard deviation, in pixels
CONTRAST = (0.75, 0.5, 0.4, 0.3, 0.15)  # the factor of the distance from an image's mean


def _noise(images: Images, strength: int) -> Images:
    generator = np.random.default_rng(strength)
    return images + NOISE[strength - 1] * generator.standard_normal(images.shape, np.float32)


def _blur(images: Images, strength: int) -> Images:
    widths = [0.0] * (images.ndim - 2) + [BLUR[strength - 1]] * 2
    blurred: Images = gaussian_filter(images, widths, mode="nearest")
    return blurred


def _contrast(images: Images, strength: int) -> Images:
    mean: Images = images.mean((-2, -1), keepdims=True)
    return mean + np.float32(CONTRAST[strength - 1]) * (images - mean)


CORRUPTIONS: dict[str, Callable[[Images, int], Images]] = {
    "noise": _noise,
    "blur": _blur,
    "contrast": _contrast,
}


def corrupted(inputs: NDArray[np.generic], kind: str, strength: int) -> Images:
    """Images from 0 to 1, corrupted in the same way on every call.

    Arguments:
        inputs: (n, height, width) or (n, channels, height, width), as in a data set.
        strength: 1 (little) to 5.
    """
    if kind not in CORRUPTIONS:
        raise unknown_name("corruption", kind, CORRUPTIONS)
    if strength not in STRENGTHS:
        raise DataError(f"the strength of a corruption is 1 to 5, not {strength}")
    if inputs.ndim not in (3, 4):
        raise DataError(f"only images can be corrupted; these inputs have shape {inputs.shape[1:]}")
    worse = CORRUPTIONS[kind](as_floats(inputs), strength)
    return worse.clip(0, 1).astype(np.float32)
