"""Random variants of training images."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from pacbound.errors import BadInput
from pacbound.seeds import Noise

__all__ = ["flip_and_crop"]

PADDING = 4  # black pixels on every side, from which a window of the image's size is cut


def flip_and_crop(images: Tensor, source: Noise) -> Tensor:
    """Each image mirrored with probability one half and moved by up to four pixels.

    Arguments:
        images: (n, channels, height, width)
    """
    if images.dim() != 4:
        raise BadInput(f"augmentation needs colour images, not inputs of shape {images.shape[1:]}")
    n, _, height, width = images.shape
    shifts = 2 * PADDING + 1
    flipped = source.choice(2, n).bool()
    top, left = source.choice(shifts, n), source.choice(shifts, n)
    columns = torch.arange(width).expand(n, width)
    columns = torch.where(flipped[:, None], width - 1 - columns, columns) + left[:, None]
    rows = torch.arange(height) + top[:, None]
    padded = functional.pad(images, (PADDING,) * 4)
    picked = padded[torch.arange(n)[:, None, None], :, rows[:, :, None], columns[:, None, :]]
    return picked.permute(0, 3, 1, 2)
