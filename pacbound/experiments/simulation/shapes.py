"""The shapes of the figure, and the shapes a user may request."""

from __future__ import annotations

import math
from typing import TypeAlias

from pacbound.errors import SettingError

__all__ = ["FIGURE", "Shape", "ensure_simulable", "parse_shape", "shape_name"]

Shape: TypeAlias = tuple[int, ...]

MATRICES: tuple[Shape, ...] = (
    *((2, 2), (2, 3), (3, 3), (3, 4), (4, 4), (4, 5), (5, 5), (5, 6)),
    *((6, 6), (6, 7), (7, 7), (7, 8), (8, 8), (8, 9), (9, 9), (9, 10), (10, 10)),
)
TENSORS: tuple[Shape, ...] = (
    *((2, 2, 2), (2, 2, 3), (2, 3, 3), (3, 3, 3), (3, 3, 4), (3, 4, 4)),
    *((4, 4, 4), (4, 4, 5), (4, 5, 5), (5, 5, 5)),
)
FIGURE = MATRICES + TENSORS
MOST_ENTRIES = 256  # of a tensor; its target has the square of that in every trial


def parse_shape(text: str) -> Shape:
    """Parse a shape.

    Example:
        >>> parse_shape("2x3x4")
        (2, 3, 4)
    """
    try:
        shape = tuple(int(size) for size in text.replace("×", "x").split("x"))
    except ValueError:
        raise SettingError(f"{text!r} is not a shape; write it like 3x4 or 2x3x4") from None
    ensure_simulable(shape)
    return shape


def ensure_simulable(shape: Shape) -> None:
    """Refuse shapes that are not matrices or tensors, or are too large for dense targets."""
    if len(shape) < 2 or min(shape) < 2:
        raise SettingError(f"{shape_name(shape)} is not a matrix or tensor with modes of 2 or more")
    if math.prod(shape) > MOST_ENTRIES:
        raise SettingError(
            f"{shape_name(shape)} has {math.prod(shape)} entries; choose at most {MOST_ENTRIES}"
        )


def shape_name(shape: Shape) -> str:
    """The printed name of a shape.

    Example:
        >>> shape_name((2, 3))
        '2×3'
    """
    return "×".join(map(str, shape))
