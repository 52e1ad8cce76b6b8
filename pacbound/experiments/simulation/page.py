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
        "| shape | all | Diag | K-Diag | K-Linear | gain |",
        "|---|---|---|---|---|---|",
    ]
    for one in published.outcomes:
        means = " | ".join(f"{one.mean(family):.2f}" for family in FAMILIES)
        rows.append(
            f"| {one.name} | {expected_diag(one.dimensions):.2f} | {means} "
            f"| {100 * one.gain:.0f} % |"
        )
    ordered = sum(one.ordered for one in published.outcomes)
    trials = published.trials * len(published.outcomes)
    return "\n".join([*rows, "", f"The order holds in {ordered} of {trials} trials."])
