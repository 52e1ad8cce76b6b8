"""The table of the published simulation."""

from __future__ import annotations

from pathlib import Path

from pacbound.experiments.simulation.diag import expected_diag
from pacbound.experiments.simulation.outcome import FAMILIES, Simulation

__all__ = ["simulation_table"]


def simulation_table(folder: Path) -> str:
    """Mean divergences by shape, and the gain of K-Linear over Diag."""
    published = Simulation.load(folder / "simulation.json")
    rows = [
        "| shape | d | Diag, all targets | Diag | K-Diag | K-Linear | K-Linear's gain | in order |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in published.outcomes:
        means = " | ".join(f"{one.mean(family):.2f}" for family in FAMILIES)
        rows.append(
            f"| {one.name} | {one.dimensions} | {expected_diag(one.dimensions):.2f} | {means} "
            f"| {100 * one.gain:.0f} % | {one.ordered} of {published.trials} |"
        )
    return "\n".join(rows)
