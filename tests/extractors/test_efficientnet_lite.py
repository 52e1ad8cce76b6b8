"""EfficientNet-Lite against its definition with batch normalisation that is not folded."""

from __future__ import annotations

import hashlib
import io
import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from pacbound.data.entry import CanonicalFile
from pacbound.errors import ModuleError
from pacbound.extractors import efficientnet_lite
from pacbound.extractors.efficientnet_lite import VARIANTS, EfficientNetLite, lite0, pretrained
from pacbound.extractors.weights import Weights

# repeats, kernel, stride, expansion, inputs, outputs: as in the network's publication
BLOCKS = ["1 3 1 1 32 16", "2 3 2 6 16 24", "2 5 2 6 24 40", "3 3 2 6 40 80"]
BLOCKS += ["3 5 1 6 80 112", "4 5 2 6 112 192", "1 3 1 6 192 320"]


def layers() -> list[tuple[str, str, int, int, int, int, int]]:
    """Every convolution of lite0: its names, inputs, outputs, kernel, stride, groups."""
    found = [("_conv_stem", "_bn0", 3, 32, 3, 2, 1)]
    number = 0
    for line in BLOCKS:
        repeats, kernel, stride, expansion, inputs, outputs = map(int, line.split())
        for repeat in range(repeats):
            first, name = (outputs if repeat else inputs), f"_blocks.{number}."
            inner = first * expansion
            if expansion > 1:
                found.append((f"{name}_expand_conv", f"{name}_bn0", first, inner, 1, 1, 1))
            step = 1 if repeat else stride
            found.append(
                (f"{name}_depthwise_conv", f"{name}_bn1", inner, inner, kernel, step, inner)
            )
            found.append((f"{name}_project_conv", f"{name}_bn2", inner, outputs, 1, 1, 1))
            number += 1
    return [*found, ("_conv_head", "_bn1", 320, 1280, 1, 1, 1)]


@pytest.fixture(scope="module")
def state() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    made = {}
    for convolution, norm, inputs, outputs, kernel, _, groups in layers():
        fan = inputs // groups * kernel**2
        shape = (outputs, inputs // groups, kernel, kernel)
        made[f"{convolution}.weight"] = torch.randn(shape, generator=generator) * math.sqrt(2 / fan)
        made[f"{norm}.weight"] = 0.5 + torch.rand(outputs, generator=generator)
        made[f"{norm}.bias"] = torch.randn(outputs, generator=generator) / 2
        made[f"{norm}.running_mean"] = torch.randn(outputs, generator=generator) / 2
        made[f"{norm}.running_var"] = 0.5 + torch.rand(outputs, generator=generator)
    return made


def written_out(state: dict[str, Tensor], images: Tensor, resolution: int) -> Tensor:
    size = (resolution, resolution)
    x = F.interpolate(images, size, mode="bicubic", align_corners=False).clamp(0, 1)
    x = (x * 255 - 127) / 128
    before = x
    for convolution, norm, _, _, kernel, stride, groups in layers():
        begins = "_expand_conv" in convolution or convolution == "_blocks.0._depthwise_conv"
        before = x if begins else before
        wide = [max((-(-n // stride) - 1) * stride + kernel - n, 0) for n in x.shape[2:]]
        x = F.pad(x, [wide[1] // 2, -(-wide[1] // 2), wide[0] // 2, -(-wide[0] // 2)])
        x = F.conv2d(x, state[f"{convolution}.weight"], None, stride, groups=groups)
        parts = [state[f"{norm}.{x}"] for x in ("running_mean", "running_var", "weight", "bias")]
        x = F.batch_norm(x, *parts, eps=1e-3)
        if "_project" not in convolution:
            x = x.clamp(0, 6)
        elif x.shape == before.shape:
            x = x + before
    return x.mean((2, 3))


def as_weights(state: dict[str, Tensor]) -> Weights:
    stream = io.BytesIO()
    torch.save(state, stream)
    content, name = stream.getvalue(), VARIANTS["lite0"].file.name

    class Given:
        label = "given"

        def read(self, wanted, progress):
            return {name: content}

    file = CanonicalFile(name, len(content), hashlib.sha256(content).hexdigest())
    return Weights("given", (file,), (Given(),))


@torch.inference_mode()
def test_folded_is_the_same_as_not_folded(state, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PACBOUND_DATA", str(tmp_path))
    network = pretrained("lite0", 64, as_weights(state))
    images = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    expected = written_out(state, images, 64)
    assert expected.shape == (3, 1280)
    assert torch.allclose(network(images), expected, rtol=1e-3, atol=1e-3 * float(expected.max()))
    grey = images[:, :1]
    assert torch.allclose(network(grey), network(grey.expand(-1, 3, -1, -1)))
    assert torch.allclose(network(grey[:, 0]), network(grey))
    assert not network.training and not any(p.requires_grad for p in network.parameters())


@pytest.mark.parametrize(("name", "millions"), [("lite0", 3.4), ("lite1", 4.1), ("lite2", 4.8)])
def test_the_size_is_the_published_one_without_the_classifier(name: str, millions: float) -> None:
    """4.7, 5.4 and 6.1 million parameters, 1.3 million of them in the classifier."""
    count = sum(p.numel() for p in EfficientNetLite(name).parameters())
    assert count / 1e6 == pytest.approx(millions, abs=0.05)


def test_the_resolution_is_in_the_digest() -> None:
    assert "resolution=64" in repr(EfficientNetLite("lite0", 64))


@pytest.mark.parametrize("shape", [(4,), (2, 32, 32), (3, 1, 32, 32)])
def test_what_is_no_image_is_refused(shape) -> None:
    with pytest.raises(ModuleError, match="are not images"):
        lite0(shape)


def test_every_variant_can_be_named() -> None:
    assert all(callable(getattr(efficientnet_lite, name)) for name in VARIANTS)
