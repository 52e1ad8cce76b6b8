"""The layers of `resnet`: a residual network with batch normalisation for small images.

After K. Jordan, "94 % on CIFAR-10 in 3.29 seconds on a single GPU" (2024): a whitening
convolution, three blocks that pool early, and a mean over each image and its mirror image.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pacbound.errors import DataError
from pacbound.networks.started import Started

__all__ = ["ResNet"]

SIDE = 2  # of the whitening kernels
SAMPLED = 5000  # images whose patches are whitened
RIDGE = 5e-4  # added to the eigenvalues of their covariance
SCALE = 1 / 3  # of the logits: the maximum over places makes features large
LEAST = 16  # pixels along a side


def _activation() -> nn.Module:
    return nn.GELU(approximate="tanh")


class _Block(nn.Module):
    """A convolution that halves the image, and two that are added to its result."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(before, after, 3, padding=1, bias=False),
            nn.MaxPool2d(2),
            nn.BatchNorm2d(after),
            _activation(),
        )
        self.residual = nn.Sequential(
            nn.Conv2d(after, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
            _activation(),
            nn.Conv2d(after, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
        )
        self.last = _activation()

    def forward(self, images: Tensor) -> Tensor:
        halved = self.first(images)
        result: Tensor = self.last(halved + self.residual(halved))
        return result


class ResNet(Started):
    """A whitening convolution, three residual blocks, and a dense layer on their maxima.

    The prior's training starts from kernels that whiten patches of its own images. The posterior
    does not draw them: they are constants of the prior.

    Arguments:
        input_shape: (height, width), or (channels, height, width).
        channels: The channels of each block.
        mirrors: Whether features are averaged over an image and its mirror image, except in
            training.

    Example:
        >>> network = ResNet((3, 32, 32), [64, 256, 256], 10)
        >>> sum(p.numel() for p in network.parameters())
        3190432
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        channels: Sequence[int],
        classes: int,
        mirrors: bool = False,
    ) -> None:
        super().__init__()
        if len(input_shape) not in (2, 3) or min(input_shape[-2:]) < LEAST:
            raise DataError(
                f"resnet needs images of {LEAST}×{LEAST} or more; these inputs are "
                f"{tuple(input_shape)}"
            )
        self.mirrors, self.is_grey = mirrors, len(input_shape) == 2
        colours = 1 if self.is_grey else input_shape[0]
        patch = colours * SIDE * SIDE
        self.whitening = nn.Conv2d(colours, 2 * patch, SIDE, bias=False).requires_grad_(False)
        self.activation = _activation()
        widths = [2 * patch, *channels]
        self.blocks = nn.Sequential(*map(_Block, widths[:-1], widths[1:]))
        self.head = nn.Linear(widths[-1], classes, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        images = images[:, None] if self.is_grey else images
        features = self._features(images)
        if self.mirrors and not self.training:
            features = (features + self._features(images.flip(3))) / 2
        logits: Tensor = self.head(features) * SCALE
        return logits

    def _features(self, images: Tensor) -> Tensor:
        first = self.activation(self.whitening(images))
        # In this layout convolutions are a third faster.
        maps: Tensor = self.blocks(first.contiguous(memory_format=torch.channels_last))
        return maps.amax((2, 3))

    @torch.no_grad()
    def start(self, examples: Tensor) -> None:
        """Set the first kernels to the principal axes of patches, each with both signs."""
        images = examples[:SAMPLED, None] if self.is_grey else examples[:SAMPLED]
        patches = nn.functional.unfold(images, SIDE).transpose(1, 2).flatten(0, 1).double()
        patches = patches - patches.mean(0)
        values, axes = torch.linalg.eigh(patches.T @ patches / len(patches))
        kernels = (axes / (values + RIDGE).sqrt()).T.reshape(-1, *self.whitening.weight.shape[1:])
        self.whitening.weight.copy_(torch.cat([kernels, -kernels]).float())
