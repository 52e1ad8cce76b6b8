"""Corrupted images: stronger is worse, and the same whenever it is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from pacbound.errors import PacboundError
from pacbound.experiments.vi.corruption import CORRUPTIONS, STRENGTHS, corrupted

IMAGES = np.random.default_rng(0).integers(0, 256, (20, 3, 32, 32), dtype=np.uint8)


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_stronger_is_further_from_the_original(kind: str) -> None:
    original = IMAGES / 255
    distances = []
    for strength in STRENGTHS:
        worse = corrupted(IMAGES, kind, strength)
        assert worse.dtype == np.float32 and worse.shape == IMAGES.shape
        assert worse.min() >= 0 and worse.max() <= 1
        assert np.array_equal(worse, corrupted(IMAGES, kind, strength))
        distances.append(np.abs(worse - original).mean())
    assert distances == sorted(distances) and distances[0] > 0.005


def test_what_each_does() -> None:
    flat = np.full((2, 8, 8), 100, np.uint8)
    for kind in ("blur", "contrast"):
        assert corrupted(flat, kind, 5) == pytest.approx(np.full((2, 8, 8), 100 / 255))
    noisy = corrupted(np.full((50, 28, 28), 128, np.uint8), "noise", 3) - 128 / 255
    assert noisy.std() == pytest.approx(0.08, rel=0.02)
    half = corrupted(IMAGES, "contrast", 2)
    centred = IMAGES / 255 - (IMAGES / 255).mean((-2, -1), keepdims=True)
    assert half - half.mean((-2, -1), keepdims=True) == pytest.approx(centred / 2, abs=1e-6)
    dot = np.zeros((1, 9, 9), np.uint8)
    dot[0, 4, 4] = 255
    blurred = corrupted(dot, "blur", 5)[0]
    assert blurred.sum() == pytest.approx(1, abs=1e-4)
    assert (blurred * (np.arange(9) - 4.0) ** 2).sum() == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize(
    "kind, strength, inputs",
    [("fog", 1, IMAGES), ("blur", 6, IMAGES), ("blur", 1, IMAGES.reshape(20, -1))],
)
def test_what_is_refused(kind: str, strength: int, inputs: np.ndarray) -> None:
    with pytest.raises(PacboundError):
        corrupted(inputs, kind, strength)
