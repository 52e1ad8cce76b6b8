"""The figure of the simulation: divergence against shape, and its difference to Diag's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pacbound.experiments.simulation.diag import expected_diag
from pacbound.experiments.simulation.outcome import FAMILIES, Outcome, Simulation, band
from pacbound.report.figures import drawing, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_simulation"]

LABELS = {"diag": "Diag", "k-diag": "K-Diag", "k-linear": "K-Linear"}
COLORS = {"diag": "tab:blue", "k-diag": "tab:orange", "k-linear": "tab:green"}


def draw_simulation(simulation: Simulation, path: Path) -> None:
    """Means over the trials, with bands of a tenth of a standard deviation.

    One column is for matrices, one for tensors. The upper row shows KL(q‖p). The lower row shows
    the difference to Diag on the same target, because most of the spread above is between
    targets. The dashed line is Diag's mean over the distribution of targets.
    """
    from matplotlib.figure import Figure

    kinds = {
        "random Gaussian matrices": [one for one in simulation.outcomes if len(one.shape) == 2],
        "random Gaussian tensors": [one for one in simulation.outcomes if len(one.shape) > 2],
    }
    shown = {title: _by_dimensions(outcomes) for title, outcomes in kinds.items() if outcomes}
    with drawing():
        figure = Figure(figsize=(5.4 * len(shown), 6.0), layout="constrained")
        grid = figure.subplots(2, len(shown), squeeze=False, sharex="col", height_ratios=[3, 2])
        for (upper, lower), (title, outcomes) in zip(grid.T, shown.items(), strict=True):
            _lines(upper, outcomes, lambda one, family: one.kl[family])
            expected = [expected_diag(one.dimensions) for one in outcomes]
            upper.plot(expected, "--", color="0.4", linewidth=1, label="Diag, all targets")
            _lines(lower, outcomes, _share_over_diag)
            upper.set_title(title, loc="left")
            upper.set_ylim(bottom=0)
            lower.set_xticks(range(len(outcomes)), [one.name for one in outcomes], rotation=60)
            lower.set_xlabel("shape, by the number of its entries")
        grid[0, 0].set_ylabel("KL(q‖p), nats")
        grid[1, 0].set_ylabel("KL − Diag's, nats per entry")
        lines, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside upper center", ncols=len(lines), frameon=False)
    save_figure(figure, path)


def _by_dimensions(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return sorted(outcomes, key=lambda one: one.dimensions)


def _share_over_diag(one: Outcome, family: str) -> Sequence[float]:
    return [more / one.dimensions for more in one.over_diag(family)]


def _lines(
    axes: Axes, outcomes: Sequence[Outcome], values: Callable[[Outcome, str], Sequence[float]]
) -> None:
    places = np.arange(len(outcomes))
    for family in FAMILIES:
        found = [values(one, family) for one in outcomes]
        low, high = np.array([band(trials) for trials in found]).T
        mean = [np.mean(trials) for trials in found]
        color = COLORS[family]
        axes.fill_between(places, low, high, color=color, alpha=0.25, linewidth=0)
        axes.plot(places, mean, ".-", color=color, linewidth=1.4, label=LABELS[family])
