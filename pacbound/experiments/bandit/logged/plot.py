"""The figure of an off-policy evaluation: an interval for each agent and estimator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacbound.report.figures import drawing, literal, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_evaluation"]


def draw_evaluation(record: dict[str, Any], path: Path) -> None:
    """Values with their limits, and beside them what they are better than the log by."""
    from matplotlib.figure import Figure

    lines = [
        (agent["agent"], kind, found)
        for agent in record["agents"]
        for kind, found in agent["estimates"].items()
    ]
    names = [literal(f"{agent}, {kind}") for agent, kind, _ in lines]
    compared = any("improvement" in found for _, _, found in lines)
    with drawing():
        figure = Figure(figsize=(9.6 if compared else 6.4, 1.0 + 0.3 * len(lines)))
        panels = figure.subplots(1, 1 + compared, sharey=True, squeeze=False)[0]
        _intervals(panels[0], lines, "value")
        _mark(panels[0], record["logging_policy"], "mean reward of the log")
        panels[0].set_yticks(range(len(lines)), names)
        panels[0].set(ylim=(len(lines) - 0.5, -0.5), xlabel="mean reward")
        panels[0].set_title(literal(record["log"]), loc="left", pad=14)
        if compared:
            _intervals(panels[1], lines, "improvement")
            _mark(panels[1], 0.0, "as good as the log")
            panels[1].set_xlabel("better than the log by")
        figure.text(
            0.99,
            0.01,
            f"limits hold together with probability {1 - record['delta']:g}",
            ha="right",
            va="bottom",
            color="0.4",
            fontsize="small",
        )
        figure.tight_layout(rect=(0, 0.04, 1, 1))
    save_figure(figure, path)


def _intervals(axes: Axes, lines: list[tuple[str, str, dict[str, Any]]], name: str) -> None:
    """A line from limit to limit for each agent and estimator, with a point at the estimate."""
    agents = [*dict.fromkeys(agent for agent, _, _ in lines)]
    for place, (agent, _, found) in enumerate(lines):
        if name not in found:
            continue
        color, limits = f"C{agents.index(agent) % 10}", found[name]
        axes.plot([limits["lower"], limits["upper"]], [place, place], color=color, lw=2)
        if limits["estimate"] is not None:
            axes.plot(limits["estimate"], place, "o", color=color, ms=5)


def _mark(axes: Axes, where: float, words: str) -> None:
    axes.axvline(where, color="0.5", ls="--", lw=1.2)
    axes.annotate(
        words,
        (where, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, 2),
        textcoords="offset points",
        color="0.4",
        fontsize="small",
    )
