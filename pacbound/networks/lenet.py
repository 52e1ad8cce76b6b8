"""LeNet-5: two convolutions with max pooling, one or two dense layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pacbound.errors import DataError
from pacbound.networks.network import Network

if TYPE_CHECKING:
    from torch import nn

__all__ = ["LENET", "lenet"]

KERNEL = 5


def lenet(input_shape: Sequence[int], hidden: Sequence[int], classes: int) -> nn.Module:
    """Two 5×5 convolutions, each with 2×2 max pooling, then a hidden dense layer or none.

    LeNet-5 itself has 20 and 50 kernels and 500 units. Images are (height, width), or
    (channels, height, width).

    Arguments:
        hidden: Kernels of the first and the second convolution, and dense units, if any.

    Example:
        >>> sum(p.numel() for p in lenet((28, 28), [20, 50, 500], 10).parameters())
        431080
    """
    from torch import nn

    first_kernels, second_kernels, *units = hidden
    if len(input_shape) not in (2, 3):
        raise DataError(f"lenet needs images; these inputs have shape {tuple(input_shape)}")
    colours = 1 if len(input_shape) == 2 else input_shape[0]
    left = [((side - KERNEL + 1) // 2 - KERNEL + 1) // 2 for side in input_shape[-2:]]
    if min(left) < 1:
        raise DataError(f"lenet needs images of 16×16 or more, not {tuple(input_shape[-2:])}")
    unflatten: list[nn.Module] = [] if len(input_shape) == 3 else [nn.Unflatten(1, (1, -1))]
    inputs = second_kernels * left[0] * left[1]
    dense: list[nn.Module] = []
    for count in units:
        dense += [nn.Linear(inputs, count), nn.ReLU()]
        inputs = count
    return nn.Sequential(
        *unflatten,
        nn.Conv2d(colours, first_kernels, KERNEL),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(first_kernels, second_kernels, KERNEL),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        *dense,
        nn.Linear(inputs, classes),
    )


def _flaw(hidden: tuple[int, ...]) -> str | None:
    if len(hidden) in (2, 3):
        return None
    return (
        "must have two or three sizes for lenet, such as [20, 50, 500]: "
        "kernels of both convolutions, then dense units, if any"
    )


LENET = Network("lenet", lenet, flaw=_flaw)
