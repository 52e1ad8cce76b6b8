"""Scale the columns of a table by examples that are used for nothing else.

Statistics of the counted examples must not enter a network. So a share of the examples is set
aside, and the certificate does not count them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.digests import example_digests
from pacbound.priors.split import split_order

__all__ = ["Scaling", "set_aside"]

FEWEST_TO_SCALE = 2  # examples needed for a standard deviation


def set_aside(
    inputs: NDArray[Any], labels: NDArray[Any], share: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The indices of the examples to scale by, and of the others, in an order set by content.

    The order of the rows has no effect, so nobody can try orders until one is lucky.
    """
    aside = int(Decimal(repr(float(share))) * len(inputs))
    if aside < FEWEST_TO_SCALE:
        aside = 0
    order = split_order(example_digests(inputs, labels.astype(np.int64)), 0)
    return order[:aside], order[aside:]


@dataclass(frozen=True, eq=False)
class Scaling:
    """arcsinh((x − center) / scale), column by column; outliers grow only with their logarithm."""

    center: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, examples: NDArray[np.float64], columns: int) -> Scaling:
        """Means and standard deviations of the examples; 0 and 1 without examples.

        The scale of a constant column is 1.
        """
        if not len(examples):
            return cls(np.zeros(columns), np.ones(columns))
        deviation = examples.std(0)
        constant = deviation <= 1e-12 * np.abs(examples).max(0)  # only rounding is left
        return cls(examples.mean(0), np.where(constant, 1.0, deviation))

    def __call__(self, inputs: NDArray[np.float64]) -> NDArray[np.float32]:
        """The network's inputs."""
        scaled: NDArray[np.float32] = np.arcsinh((inputs - self.center) / self.scale).astype(
            np.float32
        )
        return scaled
