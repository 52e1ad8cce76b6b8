"""Rotated images, and the predictive along the angles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import rotate

from pacbound.errors import PacboundError
from pacbound.experiments.rotation.rotation import rotated
from pacbound.experiments.rotation.sweep import position_of
from pacbound.predict.examples import Examples


def image(height: int = 9, width: int = 9) -> np.ndarray:
    return np.random.default_rng(0).random((height, width), dtype=np.float32)


def test_right_angles_move_pixels() -> None:
    turned = rotated(image(), [0, 90, 180, 270, 360, -90])
    for result, quarters in zip(turned, [0, 1, 2, 3, 0, 3], strict=True):
        np.testing.assert_allclose(result, np.rot90(image(), quarters), atol=1e-6)


@pytest.mark.parametrize("degrees", [7, 30, 45, 133.3, -60])
def test_other_angles_agree_with_scipy(degrees: float) -> None:
    """In the inside: at the border scipy does not blend with the zero around the image."""
    smooth = np.outer(np.hanning(15), np.hanning(12)).astype(np.float32)
    expected = rotate(smooth, degrees, reshape=False, order=1)
    (result,) = rotated(smooth, [degrees])
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, atol=0.03)
    np.testing.assert_allclose(result[4:-4, 4:-4], expected[4:-4, 4:-4], atol=1e-6)


def test_colours_turn_alike() -> None:
    colours = np.stack([image(), image().T, image()[::-1]])
    turned = rotated(colours, [20, 50])
    assert turned.shape == (2, 3, 9, 9)
    for channel in range(3):
        np.testing.assert_array_equal(turned[:, channel], rotated(colours[channel], [20, 50]))


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(PacboundError, match=r"only images can be rotated; .* \(5,\)"):
        rotated(np.zeros(5, dtype=np.float32), [10])


def test_which_example_of_a_class() -> None:
    labels = np.array([1, 0, 1, 1, 0])
    examples = Examples(np.zeros((5, 2, 2), dtype=np.float32), labels, "made", "test")
    assert [position_of(examples, 1, k) for k in range(3)] == [0, 2, 3]
    with pytest.raises(PacboundError, match=r"made have 2 of class 0, so none with index 2"):
        position_of(examples, 0, 2)
    with pytest.raises(PacboundError, match=r"0 of class 7"):
        position_of(examples, 7, 0)
