"""Figures of training runs: the figures of each epoch, and the time to a bound."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacbound.errors import FileError
from pacbound.report.amounts import duration
from pacbound.report.figures import drawing, literal, save_figure
from pacbound.report.run_summary import CLOSE, best_so_far, summary
from pacbound.report.training_log import TrainingLog

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["draw_run", "draw_runs"]

# Colours that nearly everyone can distinguish (Okabe and Ito 2008).
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES = ("-", "--", ":")  # when there are more runs than colours
PANEL = (3.9, 2.3)  # inches
WIDE = 3.0  # a larger ratio of values is shown on a logarithmic scale
FEW_TICKS = 8
MOMENTS = {  # seconds, in words
    1: "1 s",
    3: "3 s",
    10: "10 s",
    30: "30 s",
    60: "1 min",
    180: "3 min",
    600: "10 min",
    1800: "30 min",
    3600: "1 h",
    10_800: "3 h",
    36_000: "10 h",
    86_400: "24 h",
    259_200: "72 h",
    864_000: "240 h",
}


@dataclass(frozen=True)
class _Panel:
    """One panel of a run: lines that share a unit."""

    title: str
    lines: tuple[tuple[str, tuple[float, ...]], ...]  # label and values
    percent: bool = False

    @property
    def has_data(self) -> bool:
        return any(math.isfinite(value) for _, line in self.lines for value in line)


def _panels(log: TrainingLog) -> list[_Panel]:
    """The panels that have data."""

    def groups(name: str) -> tuple[tuple[str, tuple[float, ...]], ...]:
        lines = log.layers(name)
        names = [f"layer {k}" for k in range(1, len(lines) + 1)] if len(lines) > 1 else [""]
        return tuple(zip(names, lines, strict=False))

    panels = [
        _Panel(
            "bound and training risk",
            (("bound", log.series("bound")), ("risk", log.series("risk"))),
            percent=True,
        ),
        _Panel("KL(q‖p), nats", (("", log.series("kl")),)),
        _Panel("objective", (("", log.series("objective")),)),
        _Panel("prior variance λ", groups("prior_variances")),
        _Panel("trade-off β", (("", log.series("beta")),)),
        _Panel("Lipschitz constant", groups("lipschitz")),
    ]
    return [panel for panel in panels if panel.has_data]


def draw_run(log: TrainingLog, path: Path, against: str = "time") -> None:
    """One run: a panel for each figure in its log, against time or epochs."""
    from matplotlib.figure import Figure

    _refuse_empty([log])
    panels, (positions, axis_name) = _panels(log), _positions(log, against)
    if not panels:
        raise FileError(f"{log.path} has epochs without figures: there is nothing to draw")
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    with drawing():
        figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.3), layout="constrained")
        for place, panel in enumerate(panels, 1):
            axes = figure.add_subplot(rows, columns, place)
            for k, (label, values) in enumerate(panel.lines):
                _line(axes, positions, values, label, color=PALETTE[k % len(PALETTE)])
            _finish(axes, panel.title, [line for _, line in panel.lines], panel.percent)
            _phases(axes, log, positions)
            if against == "time":
                _prior(axes, log, positions)
            _whole_numbers(axes)
            axes.set_xlim(*_ends(positions, against))
            if len(panel.lines) > 1:
                axes.legend(frameon=False, fontsize=8)
            if place > len(panels) - columns:
                axes.set_xlabel(axis_name)
        figure.suptitle(_headline(log), x=0.01, ha="left", fontsize=10)
    save_figure(figure, path)


def draw_runs(logs: Sequence[TrainingLog], path: Path, against: str = "time") -> None:
    """Several runs: the best bound so far against time, and their risks and KLs below."""
    from matplotlib.figure import Figure

    _refuse_empty(logs)
    names = _names(logs)
    order = sorted(range(len(logs)), key=lambda k: min(best_so_far(logs[k])[1], default=math.inf))
    with drawing():
        figure = Figure(
            figsize=(2 * PANEL[0], 5.4 + 0.2 * math.ceil(len(logs) / 2)), layout="constrained"
        )
        grid = figure.add_gridspec(2, 2, height_ratios=[1.5, 1])
        wide = figure.add_subplot(grid[0, :])
        below = {name: figure.add_subplot(grid[1, k]) for k, name in enumerate(("risk", "kl"))}
        for k, place in enumerate(order):
            log, style = logs[place], _style(k)
            _time_to_bound(wide, log, names[place], style)
            for name, axes in below.items():
                positions = log.epochs if against == "epoch" else log.series("seconds")
                _line(axes, positions, log.series(name), "", **style)
        bounds = [best_so_far(log)[1] for log in logs]
        _finish(wide, "best bound so far (dot: within 1 % of the run's best)", bounds, True)
        _finish(below["risk"], "training risk", [log.series("risk") for log in logs], True)
        _finish(below["kl"], "KL(q‖p), nats", [log.series("kl") for log in logs], False)
        for axes in below.values() if against == "epoch" else ():
            axes.set_xlabel("epoch")
            _whole_numbers(axes)
        for axes in (wide, *(below.values() if against == "time" else ())):
            _time_axis(axes, logs)
        figure.legend(
            *wide.get_legend_handles_labels(),
            loc="outside lower center",
            ncols=2,
            frameon=False,
            fontsize=8,
        )
    save_figure(figure, path)


def _refuse_empty(logs: Sequence[TrainingLog]) -> None:
    for log in logs:
        if not log.rows:
            raise FileError(f"{log.path} has no finished epoch: wait for one, or leave it out")


def _names(logs: Sequence[TrainingLog]) -> list[str]:
    """The names of the runs; with their paths if two names are equal."""
    count = Counter(log.name for log in logs)
    return [literal(log.name if count[log.name] == 1 else str(log.path)) for log in logs]


def _headline(log: TrainingLog) -> str:
    done = summary(log)
    best = f"bound {done.final_bound:.2%}, " if done.final_bound is not None else ""
    lengths = Counter(log.phases)
    parts = ", then ".join(f"{phase} {count}" for phase, count in lengths.items())
    of = f" ({parts})" if len(lengths) > 1 else ""
    prior = log.rows[-1].prior_seconds
    after = f", shaded the {duration(prior)} of its prior" if prior else ""
    took = f"{done.epochs} epochs{of} in {duration(done.seconds)}{after}"
    return literal(f"{log.name}: {best}{took}")


def _style(place: int) -> dict[str, Any]:
    return {
        "color": PALETTE[place % len(PALETTE)],
        "linestyle": STYLES[place // len(PALETTE) % len(STYLES)],
    }


def _line(
    axes: Axes, positions: Sequence[float], values: Sequence[float], label: str, **style: Any
) -> None:
    """A line with gaps where values are not finite, and with dots if there are few."""
    shown = [value if math.isfinite(value) else math.nan for value in values]
    marker = "o" if sum(map(math.isfinite, shown)) <= 12 else ""
    axes.plot(positions, shown, label=label, marker=marker, markersize=3, linewidth=1.6, **style)


def _time_to_bound(axes: Axes, log: TrainingLog, name: str, style: dict[str, Any]) -> None:
    times, bounds = best_so_far(log)
    done = summary(log)
    if done.best_bound is None:
        axes.plot([], [], label=f"{name}: no bound", **style)
        return
    label = f"{name}: {done.best_bound:.2%}"
    axes.plot(times, bounds, label=label, drawstyle="steps-post", linewidth=1.8, **style)
    near = next(k for k, bound in enumerate(bounds) if bound <= CLOSE * done.best_bound)
    axes.plot(times[near], bounds[near], "o", markersize=5, color=style["color"])


def _finish(axes: Axes, title: str, lines: Sequence[Sequence[float]], percent: bool) -> None:
    """Title, grid and vertical axis: logarithmic if positive values are far apart."""
    axes.set_title(title, loc="left", fontsize=9)
    axes.grid(alpha=0.25, linewidth=0.6)
    values = [value for line in lines for value in line if math.isfinite(value)]
    if values and min(values) > 0 and max(values) > WIDE * min(values):
        low, high = min(values) / 1.1, max(values) * 1.1
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        ticks = _round_numbers(low, high)
        _label(axes.yaxis, ticks, [f"{100 * t:g}%" if percent else f"{t:g}" for t in ticks])
    elif percent:
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
    else:
        axes.ticklabel_format(axis="y", style="plain", useOffset=False)


def _round_numbers(low: float, high: float) -> list[float]:
    """A limited number of short tick labels on a logarithmic scale."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for digits in ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 3, 5), (1, 3), (1,)):
        every = [float(f"{digit}e{power}") for power in powers for digit in digits]
        ticks = [tick for tick in every if low <= tick <= high]
        if len(ticks) <= FEW_TICKS:
            return ticks
    return ticks[:: math.ceil(len(ticks) / FEW_TICKS)]


def _label(axis: Axis, ticks: Sequence[float], words: Sequence[str]) -> None:
    from matplotlib.ticker import NullLocator

    axis.set_ticks(ticks, words)
    axis.set_minor_locator(NullLocator())


def _phases(axes: Axes, log: TrainingLog, positions: Sequence[float]) -> None:
    """A line at the end of each training phase."""
    for at, (before, after) in enumerate(pairwise(log.phases)):
        if before != after:
            axes.axvline(positions[at], color="0.5", linewidth=0.8, linestyle=":")


def _prior(axes: Axes, log: TrainingLog, positions: Sequence[float]) -> None:
    """Shade the time in which the prior was trained, before the first epoch."""
    last = log.rows[-1]
    if last.prior_seconds:
        axes.axvspan(0, positions[-1] * last.prior_seconds / last.seconds, color="0.93", zorder=0)


def _whole_numbers(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10], integer=True))


def _ends(positions: Sequence[float], against: str) -> tuple[float, float]:
    """The same horizontal axis for all panels, whichever epochs have values."""
    first = positions[0] if against == "epoch" else 0.0
    margin = 0.02 * (positions[-1] - first) or 0.5
    return first - margin, positions[-1] + margin


def _positions(log: TrainingLog, against: str) -> tuple[list[float], str]:
    """The epochs on the horizontal axis, and the axis's name."""
    if against == "epoch":
        return [float(epoch) for epoch in log.epochs], "epoch"
    seconds = log.series("seconds")
    sizes = ((1.0, "seconds", 300), (60.0, "minutes", 5 * 3600), (3600.0, "hours", math.inf))
    size, name = next((size, name) for size, name, most in sizes if seconds[-1] < most)
    return [value / size for value in seconds], f"training time, {name}"


def _time_axis(axes: Axes, logs: Sequence[TrainingLog]) -> None:
    """A logarithmic time axis, labelled in seconds, minutes and hours."""
    times = [t for log in logs for t in log.series("seconds") if t > 0] or [1.0, 10.0]
    low, high = min(times) / 1.15, max(times) * 1.15
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    ticks = [t for t in MOMENTS if low <= t <= high]
    _label(axes.xaxis, ticks, [MOMENTS[t] for t in ticks])
    axes.set_xlabel("training time")
