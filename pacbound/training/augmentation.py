"""Random variants of training images."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from pacbound.errors import DataError
from pacbound.seeds import Noise

__all__ = ["MIRRORING", "augmented"]

PADDING = 4  # pixels of 0 on every side; a window of the image's size is cut from the result
SHIFT = 2  # the same, with pixels of the image mirrored at its edges
TURN, SHEAR, STRETCH, MOVE = 0.2, 0.2, 0.15, 0.15  # radians; MOVE in half image sizes


def augmented(kind: str, images: Tensor, source: Noise) -> Tensor:
    """Random variants of images of shape (n, height, width) or (n, channels, height, width)."""
    if kind == "none":
        return images
    if images.dim() not in (3, 4):
        raise DataError(f"augmentation needs images, not inputs of shape {tuple(images.shape[1:])}")
    grey = images.dim() == 3
    variants = _VARIANTS[kind](images[:, None] if grey else images, source)
    return variants[:, 0] if grey else variants


def _distort(images: Tensor, source: Noise) -> Tensor:
    """Each image rotated, sheared, stretched and shifted a little by its own affine map."""
    n = len(images)
    turn, slant, wide, high, right, down = (2 * source.uniform(6, n) - 1).unbind()
    turn, slant = TURN * turn, SHEAR * slant
    wide, high = 1 + STRETCH * wide, 1 + STRETCH * high
    rows = (
        torch.stack([wide * turn.cos(), wide * (slant - turn.sin()), MOVE * right], 1),
        torch.stack([high * turn.sin(), high * turn.cos(), MOVE * down], 1),
    )
    grid = functional.affine_grid(torch.stack(rows, 1), list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def _flip_and_crop(images: Tensor, source: Noise) -> Tensor:
    """Each image mirrored with probability one half and shifted by up to four pixels."""
    return _flip_and_move(functional.pad(images, (PADDING,) * 4), PADDING, source)


def _flip_and_shift(images: Tensor, source: Noise) -> Tensor:
    """Each image mirrored with probability one half and shifted by up to two pixels."""
    return _flip_and_move(functional.pad(images, (SHIFT,) * 4, mode="reflect"), SHIFT, source)


def _flip_and_move(padded: Tensor, padding: int, source: Noise) -> Tensor:
    """A window of the image's size, at a random place and mirrored with probability one half.

    Arguments:
        padded: (n, channels, height, width), of which `padding` pixels on every side are added.
    """
    n, _, height, width = padded.shape
    height, width = height - 2 * padding, width - 2 * padding
    shifts = 2 * padding + 1
    flipped = source.choice(2, n).bool()
    top, left = source.choice(shifts, n), source.choice(shifts, n)
    columns = torch.arange(width, device=padded.device).expand(n, width)
    columns = torch.where(flipped[:, None], width - 1 - columns, columns) + left[:, None]
    rows = torch.arange(height, device=padded.device) + top[:, None]
    examples = torch.arange(n, device=padded.device)
    picked = padded[examples[:, None, None], :, rows[:, :, None], columns[:, None, :]]
    return picked.permute(0, 3, 1, 2)


def _flip(images: Tensor, source: Noise) -> Tensor:
    """Each image mirrored with probability one half."""
    flipped = source.choice(2, len(images)).bool()
    return torch.where(flipped[:, None, None, None], images.flip(3), images)


_VARIANTS = {
    "flip": _flip,
    "flip-crop": _flip_and_crop,
    "flip-shift": _flip_and_shift,
    "distort": _distort,
}
MIRRORING = ("flip", "flip-crop", "flip-shift")  # variants that mirror
