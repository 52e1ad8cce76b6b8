"""Learning-rate schedules: the factor of the base rate at a fraction of the training."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["SCHEDULES"]

Schedule = Callable[[float], float]

FLOOR = 0.01


def constant(done: float) -> float:
    """The base rate throughout."""
    return 1.0


def cosine(done: float) -> float:
    """Half a cosine, down to one hundredth of the base rate."""
    return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * done))


SCHEDULES: dict[str, Schedule] = {"cosine": cosine, "constant": constant}
