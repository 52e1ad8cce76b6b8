"""The results of the minimisations, for one shape and for all shapes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pacbound.experiments.simulation.diag import expected_diag
from pacbound.experiments.simulation.fit import Fit
from pacbound.experiments.simulation.shapes import Shape, shape_name
from pacbound.files import write_whole

__all__ = ["FAMILIES", "Outcome", "Simulation", "band"]

FAMILIES = ("diag", "k-diag", "k-linear")
BAND = 0.1  # standard deviations of the figure's band on either side of the mean
DECIMALS = 8  # of a divergence; further digits are rounding
ALLOWANCE = 1e-7  # nats by which equal divergences may differ


def band(values: Sequence[float]) -> tuple[float, float]:
    """A tenth of a standard deviation either side of the mean.

    Example:
        >>> band([1.0])
        (1.0, 1.0)
    """
    half = BAND * float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return float(np.mean(values)) - half, float(np.mean(values)) + half


@dataclass(frozen=True)
class Outcome:
    """The divergences of one shape, trial by trial, in nats."""

    shape: Shape
    kl: dict[str, tuple[float, ...]]  # by family
    converged: dict[str, int]  # trials that ended in a strict local minimum, by family

    @classmethod
    def of(cls, fits: Sequence[Fit]) -> Outcome:
        """From the fits of all families to the same targets."""
        kl = {fit.family: tuple(round(kl, DECIMALS) for kl in fit.kl.tolist()) for fit in fits}
        return cls(fits[0].shape, kl, {fit.family: int(fit.converged.sum()) for fit in fits})

    @property
    def name(self) -> str:
        """The printed name of the shape."""
        return shape_name(self.shape)

    @property
    def dimensions(self) -> int:
        """d: the number of the tensor's entries."""
        return math.prod(self.shape)

    def mean(self, family: str) -> float:
        """The mean over the trials."""
        return float(np.mean(self.kl[family]))

    def over_diag(self, family: str) -> tuple[float, ...]:
        """The excess of a family over Diag on the same target, trial by trial."""
        pairs = zip(self.kl[family], self.kl["diag"], strict=True)
        return tuple(kl - diag for kl, diag in pairs)

    @property
    def k_diag_never_better(self) -> bool:
        """Whether K-Diag is nowhere below Diag, which contains it."""
        return all(more >= -ALLOWANCE for more in self.over_diag("k-diag"))

    @property
    def k_linear_never_worse(self) -> bool:
        """Whether K-Linear is nowhere above Diag, which it contains and where its search starts."""
        return all(more <= ALLOWANCE for more in self.over_diag("k-linear"))

    @property
    def ordered(self) -> int:
        """The number of trials in which K-Diag ≥ Diag ≥ K-Linear."""
        pairs = zip(self.over_diag("k-diag"), self.over_diag("k-linear"), strict=True)
        return sum(k_diag >= -ALLOWANCE and k_linear <= ALLOWANCE for k_diag, k_linear in pairs)

    @property
    def gain(self) -> float:
        """The relative reduction of Diag's mean divergence by K-Linear."""
        return 1 - self.mean("k-linear") / self.mean("diag")

    def to_mapping(self) -> dict[str, Any]:
        """The figures as plain types, for JSON."""
        families = {
            family: {
                "mean": round(self.mean(family), DECIMALS),
                "band": [round(edge, DECIMALS) for edge in band(self.kl[family])],
                "converged": self.converged[family],
                "kl": list(self.kl[family]),
            }
            for family in FAMILIES
        }
        return {
            "shape": list(self.shape),
            "dimensions": self.dimensions,
            "expected_diag": round(expected_diag(self.dimensions), DECIMALS),
            **families,
            "ordered": self.ordered,
            "k_diag_never_better": self.k_diag_never_better,
            "k_linear_never_worse": self.k_linear_never_worse,
        }


@dataclass(frozen=True)
class Simulation:
    """All figures of the simulation, and the seed of its random numbers."""

    trials: int
    seed: int
    starts: int
    outcomes: tuple[Outcome, ...]

    @property
    def holds(self) -> bool:
        """Whether in every trial of every shape K-Diag ≥ Diag ≥ K-Linear."""
        return all(one.k_diag_never_better and one.k_linear_never_worse for one in self.outcomes)

    def to_json(self) -> str:
        """The JSON text; the same for the same settings."""
        record = {
            "trials": self.trials,
            "seed": self.seed,
            "starts": self.starts,
            "band": f"{BAND} standard deviations either side of the mean",
            "holds": self.holds,
            "shapes": [outcome.to_mapping() for outcome in self.outcomes],
        }
        return json.dumps(record, indent=1)

    @classmethod
    def load(cls, path: Path) -> Simulation:
        """From a file that `save` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        outcomes = tuple(
            Outcome(
                tuple(entry["shape"]),
                {family: tuple(entry[family]["kl"]) for family in FAMILIES},
                {family: entry[family]["converged"] for family in FAMILIES},
            )
            for entry in record["shapes"]
        )
        return cls(record["trials"], record["seed"], record["starts"], outcomes)

    def save(self, path: Path) -> None:
        """Write the JSON atomically."""
        write_whole(path, lambda stream: stream.write(f"{self.to_json()}\n".encode()))
