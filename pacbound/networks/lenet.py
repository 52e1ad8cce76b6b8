"""LeNet-5: two convolutions with max pooling, two dense layers."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from pacbound.errors import BadInput

__all__ = ["lenet"]

KERNEL = 5


def lenet(
    input_shape: Sequence[int],
    classes: int,
    channels: tuple[int, int] = (20, 50),
    hidden: int = 500,
) -> nn.Module:
    """Convolutions of 5×5 with 20 and 50 kernels, each pooled by 2, then 500 hidden units.

    Images are (height, width), or (channels, height, width).

    Example:
        >>> sum(p.numel() for p in lenet((28, 28), 10).parameters())
        431080
    """
    if len(input_shape) not in (2, 3):
        raise BadInput(f"lenet needs images; these inputs have shape {tuple(input_shape)}")
    colours = 1 if len(input_shape) == 2 else input_shape[0]
    left = [((side - KERNEL + 1) // 2 - KERNEL + 1) // 2 for side in input_shape[-2:]]
    if min(left) < 1:
        raise BadInput(f"lenet needs images of 16×16 or more, not {tuple(input_shape[-2:])}")
    first: list[nn.Module] = [] if len(input_shape) == 3 else [nn.Unflatten(1, (1, -1))]
    return nn.Sequential(
        *first,
        nn.Conv2d(colours, channels[0], KERNEL),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(channels[0], channels[1], KERNEL),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(channels[1] * left[0] * left[1], hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )
