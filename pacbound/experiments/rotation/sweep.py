"""The posterior predictive of one image at several rotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data import as_floats
from pacbound.errors import DataError
from pacbound.experiments.rotation.rotation import rotated
from pacbound.predict.examples import Examples
from pacbound.predict.metrics import Entropies, entropy
from pacbound.predict.predictor import Predictor

__all__ = ["Sweep", "position_of", "sweep"]


@dataclass(frozen=True, eq=False)
class Sweep:
    """The predictions of every network for an image at every angle."""

    label: int
    position: int  # the index of the image among its examples
    degrees: tuple[float, ...]
    images: NDArray[np.float32]  # (angles, …)
    probabilities: NDArray[np.float64]  # (samples, angles, classes)

    @property
    def mean(self) -> NDArray[np.float64]:
        """The posterior predictive; (angles, classes)."""
        mean: NDArray[np.float64] = self.probabilities.mean(0)
        return mean

    def to_mapping(self) -> dict[str, Any]:
        """The numbers of the figure, for JSON."""
        entropies = Entropies.of(self.mean, entropy(self.probabilities).mean(0))
        return {
            "label": self.label,
            "position": self.position,
            "degrees": list(self.degrees),
            "mean": self.mean.tolist(),
            "entropy": entropies.total.tolist(),
            "aleatoric": entropies.aleatoric.tolist(),
            "epistemic": entropies.epistemic.tolist(),
            "samples": self.probabilities.tolist(),
        }


def position_of(examples: Examples, label: int, index: int) -> int:
    """The position of example number `index` (from 0) of a class."""
    places = np.flatnonzero(examples.labels == label)
    if index >= len(places):
        raise DataError(
            f"the {examples.split} examples of {examples.data} have {len(places)} of class "
            f"{label}, so none with index {index}"
        )
    return int(places[index])


def sweep(
    predictor: Predictor,
    examples: Examples,
    position: int,
    degrees: Sequence[float],
    samples: int,
) -> Sweep:
    """The image at this position, rotated to each angle; the same networks at all angles."""
    images = rotated(as_floats(examples.inputs[position]), degrees)
    probabilities = predictor.sampled(images, samples)
    label = int(examples.labels[position])
    return Sweep(label, position, tuple(degrees), images, probabilities)
