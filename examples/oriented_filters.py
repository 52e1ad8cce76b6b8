"""A small network for CIFAR-10 whose first layer is a formula: oriented filters, made without data.

    cd examples
    pacbound train --model oriented_filters:network --data cifar-10 --epochs 30 \\
        --posterior k-linear --objective quadratic --dtype bfloat16 --set batch=500 \\
        --set weight_draws=10 --set learning_rate=0.006 --set averaging=0.995 \\
        --constants '0.*' -o oriented.pt
    pacbound certify oriented.pt --model oriented_filters:network --looks 12 --weights 3000

The filters are constants, so they cost no nats. The certificate counts all 50 000 images. The looks
are the networks that were tried on them before this one.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["OrientedFilters", "network"]

GRID = 8  # cells along a side, over which responses are averaged
ORIENTATIONS = 6
# The rows are luminance, red against green, and both against blue.
COLOURS = [[1 / 3, 1 / 3, 1 / 3], [1 / 2, -1 / 2, 0.0], [1 / 4, 1 / 4, -1 / 2]]
FAINT = 0.02  # a deviation: fainter responses than this are not amplified


class OrientedFilters(nn.Module):
    """Images as 39 maps of 8×8: three colours, and how much they change in six directions.

    The changes are the moduli of Gabor filters at two scales. The maps of one kind and colour are
    standardised together, for each image by itself.
    """

    colours: Tensor
    fine: Tensor
    coarse: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("colours", torch.tensor(COLOURS).view(3, 3, 1, 1))
        self.register_buffer("fine", gabor_filters(0.8, 3 * math.pi / 4, 5))
        self.register_buffer("coarse", gabor_filters(1.6, 3 * math.pi / 8, 9))

    def forward(self, images: Tensor) -> Tensor:
        planes = functional.conv2d(images, self.colours)
        kinds = [planes, _moduli(planes, self.fine), _moduli(planes, self.coarse)]
        return torch.cat([_standardised(kind) for kind in kinds], 1)


def gabor_filters(deviation: float, frequency: float, side: int) -> Tensor:
    """A cosine and a sine wave in each direction under a Gaussian window: (2·directions, 1, …)."""
    places = torch.arange(side) - side // 2
    y, x = torch.meshgrid(places, places, indexing="ij")
    window = torch.exp(-(x**2 + y**2) / (2 * deviation**2))
    window /= window.sum()
    filters = []
    for k in range(ORIENTATIONS):
        angle = math.pi * k / ORIENTATIONS
        phase = frequency * (x * math.cos(angle) + y * math.sin(angle))
        for wave in (phase.cos(), phase.sin()):
            response = window * wave
            response = response - window * response.sum()  # none to an even surface
            filters.append(response / response.norm())
    return torch.stack(filters).unsqueeze(1)


def _moduli(planes: Tensor, filters: Tensor) -> Tensor:
    """The moduli of all filters on all planes: (n, 3·directions, height, width)."""
    height, width = planes.shape[2:]
    each = planes.reshape(-1, 1, height, width)
    waves = functional.conv2d(each, filters, padding=filters.shape[-1] // 2)
    squares = waves.view(-1, 2, height, width).square().sum(1)
    return (squares + 1e-4).sqrt().view(len(planes), -1, height, width)


def _standardised(maps: Tensor) -> Tensor:
    """Averages over the grid's cells, standardised together with those of the same colour."""
    cells = functional.adaptive_avg_pool2d(maps, GRID)
    by_colour = cells.reshape(len(maps), 3, -1)
    centred = by_colour - by_colour.mean(2, keepdim=True)
    scaled = centred / (by_colour.std(2, keepdim=True) + FAINT)
    return scaled.view_as(cells)


def network() -> nn.Module:
    """Ten kernels of 3×3 on the maps, pooling by 2, and a dense layer: 5130 weights."""
    kernels = 10
    return nn.Sequential(
        OrientedFilters(),
        nn.Conv2d(3 * (1 + 2 * ORIENTATIONS), kernels, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(kernels * (GRID // 2) ** 2, 10),
    )
