"""The figure of an off-policy evaluation: an interval for each agent and estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pacbound.report.figures import drawing, literal, save_figure

__all__ = ["draw_evaluation"]


def draw_evaluation(record: dict[str, Any], path: Path) -> None:
    """The values with their limits, one below the other, and the logging policy's value."""
    from matplotlib.figure import Figure

    lines = [
        (agent["agent"], kind, found["value"])
        for agent in record["agents"]
        for kind, found in agent["estimates"].items()
    ]
    with drawing():
        figure = Figure(figsize=(6.4, 1.0 + 0.3 * len(lines)))
        axes = figure.add_subplot()
        agents = [*dict.fromkeys(agent for agent, _, _ in lines)]
        for place, (agent, _, value) in enumerate(lines):
            color = f"C{agents.index(agent) % 10}"
            axes.plot([value["lower"], value["upper"]], [place, place], color=color, lw=2)
            axes.plot(value["estimate"], place, "o", color=color, ms=5)
        axes.axvline(record["logging_policy"], color="0.5", ls="--", lw=1.2)
        axes.annotate(
            "logging policy",
            (record["logging_policy"], 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, 2),
            textcoords="offset points",
            color="0.4",
        )
        axes.set_yticks(
            range(len(lines)), [literal(f"{agent}, {kind}") for agent, kind, _ in lines]
        )
        axes.set(ylim=(len(lines) - 0.5, -0.5))
        confidence = f"limits hold together with probability {1 - record['delta']:g}"
        axes.set_xlabel(f"mean reward; {confidence}")
        axes.set_title(literal(record["log"]), loc="left", pad=14)
    save_figure(figure, path)
