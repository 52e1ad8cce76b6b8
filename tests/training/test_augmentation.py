"""Random variants of images: what each of them can be, and that a seed determines them."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from pacbound.errors import PacboundError
from pacbound.recipes.settings import AUGMENTATIONS
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.augmentation import MOVE, PADDING, SHEAR, STRETCH, TURN, augmented


def noise() -> TrainingNoise:
    return TrainingNoise(derive("augmentation"))


def test_a_cropped_image_is_a_window_of_the_padded_one_maybe_mirrored() -> None:
    images = torch.rand(40, 3, 9, 11)
    found = set()
    for image, result in zip(images, augmented("flip-crop", images, noise()), strict=True):
        matches = []
        for mirrored in (False, True):
            source = functional.pad(image, (PADDING,) * 4)
            for top in range(2 * PADDING + 1):
                for left in range(2 * PADDING + 1):
                    window = source[:, top : top + 9, left : left + 11]
                    window = window.flip(-1) if mirrored else window
                    if torch.equal(window, result):
                        matches.append((mirrored, top, left))
        assert matches
        found.add(matches[0])
    assert {mirrored for mirrored, _, _ in found} == {False, True}
    assert len({(top, left) for _, top, left in found}) > 20


def test_a_distorted_image_is_an_affine_map_of_it_within_the_limits() -> None:
    # Images of their own coordinates show which map was applied to them.
    side, n = 41, 60
    line = (2 * torch.arange(side) + 1) / side - 1
    x, y = line.expand(side, side), line[:, None].expand(side, side)
    inside = (x.abs() < 0.5) & (y.abs() < 0.5)  # far from the black surroundings
    plane = torch.stack([x, y, torch.ones_like(x)])
    results = augmented("distort", plane.expand(n, 3, side, side), noise())
    known = torch.stack([part[inside] for part in plane], 1)
    for result in results:
        seen = torch.stack([result[0][inside], result[1][inside]], 1)
        map_, *_ = torch.linalg.lstsq(known, seen)
        assert torch.allclose(known @ map_, seen, atol=1e-4)
        linear, moved = map_[:2].T, map_[2]
        assert moved.abs().max() <= MOVE + 1e-4
        gains = torch.linalg.svdvals(linear)
        assert gains.max() <= (1 + STRETCH) * (1 + SHEAR) + 1e-3
        assert gains.min() >= (1 - STRETCH) * (1 - SHEAR) - 1e-3
        assert abs(linear[1, 0]) <= (1 + STRETCH) * torch.tensor(TURN).sin() + 1e-3


def test_a_flipped_image_is_itself_or_its_mirror() -> None:
    images = torch.rand(60, 2, 5, 6)
    results = augmented("flip", images, noise())
    same = [torch.equal(*pair) for pair in zip(results, images, strict=True)]
    mirrored = [torch.equal(*pair) for pair in zip(results, images.flip(-1), strict=True)]
    assert all(a != b for a, b in zip(same, mirrored, strict=True))
    assert 15 < sum(mirrored) < 45


@pytest.mark.parametrize("kind", AUGMENTATIONS)
def test_grey_images_keep_their_shape_and_a_seed_its_variants(kind: str) -> None:
    images = torch.rand(5, 12, 12)
    first, again = (augmented(kind, images, noise()) for _ in range(2))
    assert first.shape == images.shape
    assert torch.equal(first, again)
    assert torch.equal(first, images) == (kind == "none")


def test_augmentation_needs_images() -> None:
    with pytest.raises(
        PacboundError, match=r"augmentation needs images, not inputs of shape \(9,\)"
    ):
        augmented("distort", torch.rand(4, 9), noise())
