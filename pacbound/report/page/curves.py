"""Training curves: risk and bound, and KL, against time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from pacbound.report.amounts import duration
from pacbound.report.page.axis import Axis, axis
from pacbound.report.page.numbers import grouped
from pacbound.report.training_log import TrainingLog

__all__ = [
    "FOOT",
    "HEIGHT",
    "MARGIN",
    "TOP",
    "WIDTH",
    "Line",
    "curves",
    "grid_of",
    "path_of",
    "scale_of",
]

HEIGHT, TOP, FOOT, MARGIN = 180, 10, 22, 76  # pixels: the plot, and the space around it
WIDTH = 1000  # of the plot in its own units, stretched to the width of the page
MOST = 400  # epochs in a plot
UNITS = ((5400, 3600, "h"), (100, 60, "min"), (0, 1, "s"))


@dataclass(frozen=True)
class Line:
    """One curve; missing values are NaN."""

    name: str
    kind: str  # its colour class, as in the waterfall
    values: Sequence[float]
    unit: str


def curves(log: TrainingLog) -> list[Markup]:
    """The plots for a log; none if it has fewer than two epochs."""
    log = _thinned(log)
    if len(log.rows) < 2:
        return []
    risk, bound = ([100 * x for x in log.series(name)] for name in ("risk", "bound"))
    panels = [
        (Line("bound", "bound", bound, "%"), Line("risk", "risk", risk, "%")),
        (Line("KL", "kl", log.series("kl"), "nats"),),
    ]
    return [drawing for lines in panels if (drawing := _panel(log, lines))]


def _thinned(log: TrainingLog) -> TrainingLog:
    """Every n-th epoch of a long log, counted from the last."""
    every = -(-len(log.rows) // MOST)
    return replace(log, rows=log.rows[::-1][:: max(every, 1)][::-1])


def _panel(log: TrainingLog, lines: Sequence[Line]) -> Markup:
    """A plot with one or more lines, or nothing if there are no numbers."""
    numbers = [x for line in lines for x in line.values if math.isfinite(x)]
    if not numbers:
        return Markup()
    seconds = log.series("seconds")
    longest = max(seconds)
    share, unit = next((per, name) for least, per, name in UNITS if longest >= least)
    across, up = axis(0.0, longest / share), axis(min(0.0, *numbers), max(numbers), 4)
    places = [WIDTH * across.part(second / share) for second in seconds]
    return Markup(
        '<figure class="curve"><figcaption>{legend}</figcaption>'
        '<div class="plot"><svg class="scale" width="{margin}" height="{height}" '
        'aria-hidden="true">{scale}</svg>'
        '<svg width="100%" height="{height}" role="img" aria-label="{label}">{grid}'
        '<svg y="{top}" width="100%" height="{plot}" viewBox="0 0 {wide} {plot}" '
        'preserveAspectRatio="none">{paths}{hits}</svg></svg></div></figure>'
    ).format(
        legend=Markup(" ").join(_legend(line) for line in lines),
        height=TOP + HEIGHT + FOOT,
        label=f"{' and '.join(line.name for line in lines)} over {duration(longest)}",
        margin=MARGIN,
        scale=scale_of(up, lines[0].unit),
        grid=grid_of(across, up, unit),
        top=TOP,
        plot=HEIGHT,
        wide=WIDTH,
        paths=Markup().join(path_of(line, places, up) for line in lines),
        hits=_hits(log, lines, places),
    )


def _legend(line: Line) -> Markup:
    last = next((x for x in reversed(line.values) if math.isfinite(x)), math.nan)
    return Markup('<span class="key {}">{} <b>{} {}</b></span>').format(
        line.kind, line.name, f"{last:.2f}" if line.unit == "%" else grouped(last), line.unit
    )


def _height(up: Axis, value: float) -> float:
    return TOP + HEIGHT * (1 - up.part(value))


def scale_of(up: Axis, unit: str, before: str = "") -> Markup:
    text = Markup('<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}{} {}</text>')
    labels = (
        text.format(MARGIN - 10, _height(up, tick) + 4, before, up.label(tick), unit)
        for tick in up.ticks
    )
    return Markup().join(labels)


def grid_of(across: Axis, up: Axis, unit: str) -> Markup:
    line = Markup('<line class="grid" x1="0" x2="100%" y1="{0:.1f}" y2="{0:.1f}"/>')
    parts = [line.format(_height(up, tick)) for tick in up.ticks]
    for tick in across.ticks:
        part = across.part(tick)
        anchor = "start" if part < 0.01 else "end" if part > 0.99 else "middle"
        parts.append(
            Markup('<text class="tick" x="{:.2f}%" y="{}" text-anchor="{}">{} {}</text>').format(
                100 * part, TOP + HEIGHT + 18, anchor, across.label(tick), unit
            )
        )
    return Markup().join(parts)


def path_of(line: Line, places: Sequence[float], up: Axis) -> Markup:
    """Straight segments, with gaps where there is no number."""
    pieces, pen = [], "M"
    for x, value in zip(places, line.values, strict=True):
        if math.isfinite(value):
            pieces.append(f"{pen}{x:.1f} {HEIGHT * (1 - up.part(value)):.1f}")
        pen = "L" if math.isfinite(value) else "M"
    return Markup('<path class="line {}" d="{}"/>').format(line.kind, "".join(pieces))


def _hits(log: TrainingLog, lines: Sequence[Line], places: Sequence[float]) -> Markup:
    """An invisible strip over each epoch whose title shows its figures."""
    ends = [0.0, *((a + b) / 2 for a, b in itertools.pairwise(places)), float(WIDTH)]
    strips = []
    for index, row in enumerate(log.rows):
        figures = ", ".join(f"{line.name} {line.values[index]:.6g} {line.unit}" for line in lines)
        strips.append(
            Markup(
                '<rect class="hit" x="{:.1f}" width="{:.1f}" height="{}"><title>{}</title></rect>'
            ).format(
                ends[index],
                max(ends[index + 1] - ends[index], 0.0),
                HEIGHT,
                f"epoch {row.epoch}, {duration(row.seconds)}: {figures}",
            )
        )
    return Markup().join(strips)
