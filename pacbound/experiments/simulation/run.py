"""The simulation: the three families on the same targets, shape after shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from pacbound.experiments.simulation.diag import fit_diag
from pacbound.experiments.simulation.k_diag import fit_k_diag
from pacbound.experiments.simulation.k_linear import fit_k_linear
from pacbound.experiments.simulation.outcome import Outcome, Simulation
from pacbound.experiments.simulation.shapes import FIGURE, Shape, ensure_simulable
from pacbound.experiments.simulation.targets import Targets

__all__ = ["simulate"]

Report: TypeAlias = Callable[[int, int], None]  # (done, total)


def simulate(
    shapes: Sequence[Shape] = FIGURE,
    trials: int = 25,
    seed: int = 0,
    starts: int = 4,
    report: Report = lambda done, total: None,
) -> Simulation:
    """Minimise KL(q‖p) over every family, for random targets of every shape.

    Arguments:
        shapes: The shapes of matrices and tensors.
        trials: Targets per shape.
        seed: The seed of targets and random starts.
        starts: Starting points of K-Linear's searches; the first is Diag's solution.
        report: Called during the work.
    """
    for shape in shapes:
        ensure_simulable(shape)
    total = starts * sum(map(_cost, shapes))
    done = 0
    outcomes = []
    report(done, total)
    for shape in shapes:

        def searched(cost: int = _cost(shape)) -> None:
            nonlocal done
            done += cost
            report(done, total)

        targets = Targets.draw(shape, trials, seed)
        k_linear = fit_k_linear(targets, starts, seed, searched)
        outcomes.append(Outcome.of([fit_diag(targets), fit_k_diag(targets), k_linear]))
    return Simulation(trials, seed, starts, tuple(outcomes))


def _cost(shape: Shape) -> int:
    """The relative cost of one search, to estimate the time left; it includes call overhead."""
    return math.prod(shape) ** 2 + 300
