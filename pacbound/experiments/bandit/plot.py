"""The figure of regret curves: the regret of the agents over a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pacbound.experiments.bandit.comparison import Average
from pacbound.report.figures import drawing, literal, save_figure

__all__ = ["Curve", "draw_regret"]

COLORS = 10
LINES = ("-", "-.", ":")  # of the first ten agents, the next ten, …


@dataclass(frozen=True)
class Curve:
    """The regret of one run at some of its steps."""

    steps: Sequence[int]
    normalized: Sequence[float]  # per cent of the uniform policy's regret at the end


def draw_regret(
    title: str, curves: Mapping[str, Sequence[Curve]], fixed: float, path: Path
) -> None:
    """A line per agent: the mean over its runs, in a band of one standard error on either side.

    Arguments:
        title: The title of the figure.
        curves: The runs of each agent, all at the same steps.
        fixed: The mean regret of the best fixed arm at the end.
        path: The file; its suffix selects the format.
    """
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(6.4, 4.0))
        axes = figure.add_subplot()
        top, end = 0.0, 1
        for place, (agent, runs) in enumerate(curves.items()):
            color, line = f"C{place % COLORS}", LINES[place // COLORS % len(LINES)]
            steps = np.array([0, *runs[0].steps])
            averages = [
                Average.of(values) for values in zip(*(run.normalized for run in runs), strict=True)
            ]
            mean = np.array([0.0, *(one.mean for one in averages if one)])
            error = np.array([0.0, *(one.standard_error or 0.0 for one in averages if one)])
            label = f"{agent}  {mean[-1]:.2f}" + (f" ± {error[-1]:.2f}" if len(runs) > 1 else "")
            axes.fill_between(steps, mean - error, mean + error, alpha=0.2, color=color, lw=0)
            axes.plot(steps, mean, color=color, ls=line, lw=1.6, label=label)
            top, end = max(top, float((mean + error).max())), int(steps[-1])
        for level, style, name in ((fixed, ":", "fixed arm"), (100.0, "--", "uniform")):
            label = f"{name}  {level:.2f}"
            axes.plot([0, end], [0, level], color="0.5", ls=style, lw=1.2, label=label)
        # Reference lines above the figure would squeeze the agents' lines to the bottom.
        axes.set(xlim=(0, end), ylim=(0, 1.08 * top or 1.0))
        axes.set(xlabel="context", ylabel="regret, % of uniform's at the end")
        axes.set_title(literal(title), loc="left")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    save_figure(figure, path)
