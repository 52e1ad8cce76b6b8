"""Alignment of images: a fixed map of each image alone, so the prior stays free of data."""

from __future__ import annotations

import numpy as np

from pacbound.errors import DataError

__all__ = ["ALIGNMENTS", "align", "bilinear", "deskew"]

CHUNK = 4096  # images at a time, to limit the memory


def deskew(images: np.ndarray) -> np.ndarray:
    """Shift each image to its centre of mass and shear it until its main axis is upright.

    The shear is cov(y, x)/var(y) of the ink, as in "Gradient-based learning applied to document
    recognition" (LeCun et al. 1998), whose networks saw such digits too. Empty images stay as is.

    Arguments:
        images: (n, height, width), not negative
    """
    return np.concatenate([_deskew(images[i : i + CHUNK]) for i in range(0, len(images), CHUNK)])


def _deskew(images: np.ndarray) -> np.ndarray:
    ink = images.astype(np.float64)
    height, width = ink.shape[1:]
    y, x = np.arange(height)[:, None], np.arange(width)[None, :]
    total = ink.sum((1, 2))
    safe = np.where(total > 0, total, 1.0)
    center_y, center_x = (ink * y).sum((1, 2)) / safe, (ink * x).sum((1, 2)) / safe
    offset_y = y - center_y[:, None, None]
    covariance = (ink * offset_y * (x - center_x[:, None, None])).sum((1, 2))
    variance = (ink * offset_y**2).sum((1, 2))
    tall = variance > 1e-9 * np.abs(total)  # for a single row, the variance is only rounding
    shear = np.where(tall, covariance / np.where(tall, variance, 1.0), 0.0)
    shear, center_y, center_x = (value[:, None, None] for value in (shear, center_y, center_x))
    # The source coordinates of the result's pixel (y, x).
    up = y - (height - 1) / 2
    source_y = np.broadcast_to(up + center_y, ink.shape)
    source_x = x - (width - 1) / 2 + center_x + shear * up
    upright = bilinear(ink, source_y, source_x)
    upright[total == 0] = ink[total == 0]
    return upright.astype(np.float32)


def bilinear(images: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The images, interpolated at real coordinates; zero outside."""
    height, width = images.shape[1:]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    y, x = np.clip(y + 1, 0, height + 1), np.clip(x + 1, 0, width + 1)
    top = np.minimum(y.astype(np.intp), height)
    left = np.minimum(x.astype(np.intp), width)
    down, right = y - top, x - left
    n = np.arange(len(images))[:, None, None]
    upper = padded[n, top, left] * (1 - right) + padded[n, top, left + 1] * right
    lower = padded[n, top + 1, left] * (1 - right) + padded[n, top + 1, left + 1] * right
    sampled: np.ndarray = upper * (1 - down) + lower * down
    return sampled


ALIGNMENTS = ("none", "deskew")


def align(inputs: np.ndarray, alignment: str) -> np.ndarray:
    """The inputs after the alignment of this name."""
    if alignment == "none":
        return inputs
    if inputs.ndim != 3:
        raise DataError(
            f"alignment {alignment} needs images of one channel; these inputs have shape "
            f"{inputs.shape[1:]}: use alignment=none"
        )
    return deskew(inputs)
