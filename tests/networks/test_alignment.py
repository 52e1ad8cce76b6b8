"""Deskewing: against SciPy's affine maps, and what it promises of every image."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import ndimage

from pacbound.errors import PacboundError
from pacbound.networks import alignment
from pacbound.networks.alignment import ALIGNMENTS, align, deskew
from pacbound.networks.input_map import map_inputs

SIDE = 28


def strokes(n: int, slant: float, seed: int = 0, reach: float = 5.0) -> np.ndarray:
    """Bent pen strokes about the middle of an image, leaning by `slant` pixels a row."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[:SIDE, :SIDE]
    images = np.zeros((n, SIDE, SIDE), dtype=np.float32)
    for image in images:
        bend, turn = generator.uniform(1, 3), generator.uniform(0, 6)
        for height in np.linspace(-reach, reach, 40):
            at_y = SIDE / 2 + height
            at_x = SIDE / 2 + slant * height + bend * np.sin(turn + height)
            image[:] = np.maximum(image, np.exp(-((y - at_y) ** 2 + (x - at_x) ** 2) / 2))
        image[image < 1e-3] = 0
    return images


def moments(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The centre of the ink and its covariance, of (y, x)."""
    places = np.indices(image.shape).reshape(2, -1)
    ink = image.astype(np.float64).ravel()
    return np.average(places, axis=1, weights=ink), np.cov(places, aweights=ink, bias=True)


def reference(image: np.ndarray) -> np.ndarray:
    """One image by SciPy: order 1, zero outside."""
    center, covariance = moments(image)
    shear = covariance[0, 1] / covariance[0, 0] if covariance[0, 0] > 1e-12 else 0.0
    matrix = np.array([[1, 0], [shear, 1]])
    middle = (np.array(image.shape) - 1) / 2
    return ndimage.affine_transform(
        image.astype(np.float64), matrix, center - matrix @ middle, order=1, mode="grid-constant"
    )


@pytest.mark.parametrize("shape", [(28, 28), (32, 20), (5, 9), (1, 6), (6, 1), (2, 2)])
def test_random_images_are_mapped_as_by_scipy(shape: tuple[int, int]) -> None:
    images = np.random.default_rng(0).random((8, *shape)).astype(np.float32) ** 4
    expected = np.stack([reference(image) for image in images])
    np.testing.assert_allclose(deskew(images), expected, atol=1e-6)


@pytest.mark.parametrize("slant", [-0.8, -0.3, 0.0, 0.5, 1.0])
def test_strokes_are_mapped_as_by_scipy(slant: float) -> None:
    images = strokes(6, slant)
    expected = np.stack([reference(image) for image in images])
    np.testing.assert_allclose(deskew(images), expected, atol=1e-6)


@pytest.mark.parametrize("slant", [-0.8, -0.3, 0.0, 0.5, 1.0])
def test_strokes_are_upright_and_centred_after_it(slant: float) -> None:
    for before, after in zip(strokes(6, slant), deskew(strokes(6, slant)), strict=True):
        center, covariance = moments(after)
        np.testing.assert_allclose(center, (SIDE - 1) / 2, atol=1e-3)
        # Sampling between the rows leaves some 2 % of the slant.
        assert abs(covariance[0, 1]) < 0.02 * covariance[0, 0]
        assert after.sum() == pytest.approx(before.sum(), rel=1e-3)


def test_deskewing_twice_moves_little() -> None:
    images = strokes(6, 0.6)
    once = deskew(images)
    assert np.abs(once - images).max() > 0.5
    assert np.abs(deskew(once) - once).max() < 0.05


def test_an_image_without_ink_stays() -> None:
    images = strokes(3, 0.5)
    images[1] = 0
    mapped = deskew(images)
    assert not mapped[1].any()
    np.testing.assert_array_equal(mapped[[0, 2]], deskew(images[[0, 2]]))


@pytest.mark.parametrize("way", [(3, 0), (0, -4), (-2, 5)])
def test_a_translation_does_not_matter(way: tuple[int, int]) -> None:
    images = strokes(6, 0.2, reach=4.0)
    assert images[:, 6:-6, 6:-6].sum() == images.sum()  # no ink goes over a border
    moved = np.roll(images, way, axis=(1, 2))
    np.testing.assert_allclose(deskew(moved), deskew(images), atol=1e-6)


def test_brightness_does_not_matter() -> None:
    images = strokes(4, 0.5)
    np.testing.assert_allclose(deskew(images * 0.25), deskew(images) * 0.25, atol=1e-7)


@settings(deadline=None)
@given(
    arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 3), st.integers(1, 7), st.integers(1, 7)),
        elements=st.floats(0, 1, width=32),
    )
)
def test_any_image_of_ink_stays_one(images: np.ndarray) -> None:
    mapped = deskew(images)
    assert mapped.shape == images.shape
    assert mapped.dtype == np.float32
    assert (mapped >= 0).all()
    assert mapped.max() <= images.max() * (1 + 1e-6)


def test_a_single_row_is_moved_and_not_sheared() -> None:
    """Its variance is rounding: what it would be divided into is rounding as well."""
    generator = np.random.default_rng(0)
    images = np.zeros((50, SIDE, SIDE), dtype=np.float32)
    images[:, 7, 6:21] = np.exp(6 * generator.normal(size=(50, 15)))
    for image, mapped in zip(images, deskew(images), strict=True):
        center_x = np.average(np.arange(SIDE), weights=image[7].astype(np.float64))
        expected = ndimage.shift(image[7].astype(np.float64), 13.5 - center_x, order=1) / 2
        np.testing.assert_allclose(mapped[13], expected, atol=1e-6 * image.max())
        np.testing.assert_allclose(mapped[14], expected, atol=1e-6 * image.max())


@pytest.mark.parametrize("chunk", [1, 2, 7, 100])
def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    images = strokes(7, 0.4)
    whole = deskew(images)
    monkeypatch.setattr(alignment, "CHUNK", chunk)
    np.testing.assert_array_equal(deskew(images), whole)


@pytest.mark.parametrize("shape", [(3, 5), (3, 3, 8, 8)])
def test_inputs_that_are_no_grey_images_are_refused_in_one_line(shape: tuple[int, ...]) -> None:
    inputs = np.ones(shape, dtype=np.float32)
    with pytest.raises(PacboundError, match="needs images of one channel") as caught:
        align(inputs, "deskew")
    assert "\n" not in str(caught.value)
    assert align(inputs, "none") is inputs


def test_alignment_comes_before_smoothing_and_scale() -> None:
    inputs = (255 * strokes(3, 0.5)).astype(np.uint8)
    aligned = deskew(inputs.astype(np.float32) / 255)
    for smoothing in (0.0, 1.0):
        mapped = map_inputs(inputs, 1.5, smoothing, "deskew")
        np.testing.assert_allclose(
            mapped.numpy(), map_inputs(aligned, 1.5, smoothing).numpy(), atol=1e-6
        )


def test_every_declared_alignment_can_be_set_and_paid_for() -> None:
    from pacbound.bounds.codes import LISTS
    from pacbound.recipes import recipe

    assert sorted(LISTS["alignment"]) == sorted(ALIGNMENTS)
    for name in ALIGNMENTS:
        assert recipe("mlp-600", {"alignment": name}).alignment == name
    with pytest.raises(PacboundError, match="alignment must be none or deskew"):
        recipe("mlp-600", {"alignment": "rotate"})
