"""Learning-rate schedules: the factor of the base rate at a fraction of training."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["SCHEDULES"]

Schedule = Callable[[float], float]

FLOOR = 0.01
WARM_UP = 0.2  # the part of one-cycle training in which the rate rises
START = 0.1  # its factor at the start


def constant(done: float) -> float:
    """The base rate, constant."""
    return 1.0


def cosine(done: float) -> float:
    """Half a cosine, down to one hundredth of the base rate."""
    return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * done))


def one_cycle(done: float) -> float:
    """A linear rise to the base rate, then half a cosine down.

    L. N. Smith and N. Topin, "Super-convergence" (2018). The warm-up allows a larger base rate, and
    so fewer epochs.
    """
    if done < WARM_UP:
        return START + (1 - START) * done / WARM_UP
    return cosine((done - WARM_UP) / (1 - WARM_UP))


SCHEDULES: dict[str, Schedule] = {"cosine": cosine, "constant": constant, "one-cycle": one_cycle}
