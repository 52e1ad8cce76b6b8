"""Rotation of images about their centre."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import DataError
from pacbound.networks.alignment import bilinear

__all__ = ["rotated"]


def rotated(image: NDArray[np.float32], degrees: Sequence[float]) -> NDArray[np.float32]:
    """One image at each of these angles, counterclockwise, by bilinear interpolation.

    Pixels outside the image are zero.

    Arguments:
        image: (height, width) or (channels, height, width)
    """
    if image.ndim not in (2, 3):
        raise DataError(f"only images can be rotated; these inputs have shape {image.shape}")
    height, width = image.shape[-2:]
    channels = image.reshape(-1, height, width).astype(np.float64)
    up, right = (height - 1) / 2, (width - 1) / 2
    y, x = np.arange(height)[:, None] - up, np.arange(width)[None, :] - right
    turned = []
    for angle in np.deg2rad(degrees):
        # The source coordinates of the result's pixel (y, x); y points down.
        source_y = up + np.cos(angle) * y + np.sin(angle) * x
        source_x = right - np.sin(angle) * y + np.cos(angle) * x
        places = [np.broadcast_to(place, channels.shape) for place in (source_y, source_x)]
        turned.append(bilinear(channels, *places).reshape(image.shape))
    return np.stack(turned).astype(np.float32)
