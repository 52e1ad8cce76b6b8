"""Upper confidence limits of E‖W − Θ0‖², by name. A new one is one line here."""

from __future__ import annotations

from typing import Protocol

from pacbound.bounds import gaussian_tail, theorem3
from pacbound.bounds.arithmetic import Real

__all__ = ["TAILS", "Tail"]


class Tail(Protocol):
    """A limit from K samples, with the map's Lipschitz constant and offset ≥ ‖W(0) − Θ0‖."""

    def __call__(
        self,
        mean_square: Real,
        lipschitz: Real,
        d: int,
        offset: Real,
        samples: Real,
        delta: Real,
    ) -> Real: ...


def _gaussian(
    mean_square: Real, lipschitz: Real, d: int, offset: Real, samples: Real, delta: Real
) -> Real:
    return gaussian_tail.second_moment_limit(mean_square, lipschitz, samples, delta)


TAILS: dict[str, Tail] = {"gaussian": _gaussian, "theorem3": theorem3.second_moment_limit}
