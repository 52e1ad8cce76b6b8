"""VGG-16 in the small form of "Noisy Natural Gradient as Variational Inference"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pacbound.errors import DataError
from pacbound.networks.network import Network

if TYPE_CHECKING:
    from torch import nn

__all__ = ["BLOCKS", "VGG", "vgg"]

BLOCKS = (2, 2, 3, 3, 3)  # convolutions in each block


def vgg(
    input_shape: Sequence[int], channels: Sequence[int], classes: int, batch_norm: bool
) -> nn.Module:
    """Five blocks of 3×3 convolutions, each with 2×2 max pooling, then one dense layer.

    Batch normalisation here has no weights, but it learns running means and variances from the
    data. So such a network cannot be certified. Its convolutions have no biases: batch statistics
    would cancel them in training, but not their noise when running statistics are used.

    Arguments:
        channels: The channels of each block; VGG-16 here has 32, 64, 128, 256, 256.

    Example:
        >>> sum(p.numel() for p in vgg((3, 32, 32), [32, 64, 128, 256, 256], 10, True).parameters())
        3680618
    """
    from torch import nn

    if len(channels) != len(BLOCKS):
        raise DataError(f"vgg needs {len(BLOCKS)} numbers of channels, not {len(channels)}")
    if len(input_shape) != 3 or min(input_shape[1:]) < 32:
        raise DataError(
            f"vgg needs colour images of 32×32 or more; these inputs are {tuple(input_shape)}"
        )
    layers: list[nn.Module] = []
    before = input_shape[0]
    for convolutions, after in zip(BLOCKS, channels, strict=True):
        for _ in range(convolutions):
            layers.append(nn.Conv2d(before, after, 3, padding=1, bias=not batch_norm))
            if batch_norm:
                layers.append(nn.BatchNorm2d(after, affine=False))
            layers.append(nn.ReLU())
            before = after
        layers.insert(-1, nn.MaxPool2d(2))  # same result before ReLU, which then has less to do
    left = (input_shape[1] >> len(BLOCKS)) * (input_shape[2] >> len(BLOCKS))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(before * left, classes))


VGG = Network("vgg", vgg, allows_batch_norm=True)
