"""The figure of a monitor: evidence over the stream, and every claim beside what was observed."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from pacbound.monitoring import Monitored, WatchedClaim
from pacbound.report.amounts import percent_up
from pacbound.report.evidence import claim_name, paths
from pacbound.report.figures import drawing, literal, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_monitored"]

# Colours that nearly everyone can distinguish (Okabe and Ito 2008).
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MOST = 20  # claims in the lower panel


def draw_monitored(result: Monitored, title: str, path: Path) -> None:
    """Draw the evidence of all claims, and the figures of those that are nearest to an alarm."""
    from matplotlib.figure import Figure

    ranked = sorted(result.claims, key=_urgency, reverse=True)
    shown = ranked[:MOST]
    with drawing():
        figure = Figure(figsize=(9.0, 3.6 + 0.26 * len(shown)), layout="constrained")
        top, bottom = figure.subplots(2, 1, height_ratios=[2.6, 0.5 + 0.26 * len(shown)])
        _draw_evidence(top, result, ranked)
        top.set_title(literal(title), loc="left")
        _draw_claims(bottom, shown, len(ranked))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a character that the font does not have
        save_figure(figure, path)


def _urgency(each: WatchedClaim) -> tuple[bool, float]:
    return each.refuted_at is not None, each.log_evidence


def _draw_evidence(axes: Axes, result: Monitored, ranked: list[WatchedClaim]) -> None:
    """Lines of log10 evidence; the claims nearest to an alarm have a colour and a name."""
    from matplotlib.ticker import MaxNLocator

    alarm = math.log10(1 / result.claims[0].share)
    for each in reversed(ranked[len(PALETTE) :]):
        axes.plot(*_line(result, each), color="0.8", linewidth=0.8)
    for each, colour in reversed(list(zip(ranked, PALETTE, strict=False))):
        rows, logs = _line(result, each)
        axes.plot(rows, logs, color=colour, linewidth=1.4, label=literal(claim_name(each)))
        if each.refuted_at is not None:
            axes.plot([each.refuted_at], [alarm], "o", color=colour, markersize=5)
    axes.axhline(alarm, color="0.3", linestyle="--", linewidth=1)
    words = f"alarm at {1 / result.claims[0].share:,.0f}"
    axes.annotate(
        words,
        (0, alarm),
        (4, 3),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        color="0.3",
    )
    lows = [min(_line(result, each)[1]) for each in ranked]
    highs = [max(_line(result, each)[1]) for each in ranked]
    # Long after an alarm, or long below the bound, the line says nothing more.
    axes.set_ylim(max(min(lows), -3 * alarm) - 0.3, min(max(*highs, alarm), 4 * alarm) + 0.6)
    axes.set_xlim(0, max(result.rows, 1))
    axes.yaxis.set_major_formatter(lambda value, _: f"$10^{{{value:g}}}$")
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set(xlabel="outcomes", ylabel="evidence against the claim")
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], frameon=False, fontsize=8, loc="center left",
                bbox_to_anchor=(1.0, 0.5))  # fmt: skip


def _line(result: Monitored, each: WatchedClaim) -> tuple[list[int], list[float]]:
    rows, logs = zip(*paths(result, each), strict=True)
    return list(rows), list(logs)


def _draw_claims(axes: Axes, shown: list[WatchedClaim], number: int) -> None:
    """For each claim the observed mean and the lower limit of the risk, as parts of the bound."""
    for place, each in enumerate(shown):
        colour = "#d55e00" if each.refuted_at is not None else "#0072b2"
        limit, mean = (x / float(each.claim.bound) for x in (float(each.lower_limit), each.mean))
        if each.outcomes:
            axes.plot([limit, mean], [place, place], color=colour, linewidth=3, alpha=0.45)
            axes.plot([limit], [place], "|", color=colour, markersize=9, markeredgewidth=1.6)
            axes.plot([mean], [place], "o", color=colour, markersize=5)
    axes.axvline(1, color="black", linewidth=1.2, label="bound")
    axes.plot([], [], "o", color="0.4", markersize=5, linestyle="none", label="observed mean")
    axes.plot([], [], "|", color="0.4", markersize=9, linestyle="none", label="lower limit")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    names = [f"{claim_name(each)} ≤ {percent_up(each.claim.bound)} %" for each in shown]
    axes.set_yticks(range(len(shown)), [literal(name) for name in names])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(0, max(axes.get_xlim()[1], 1.05))
    more = f" ({len(shown)} of {number} claims)" if number > len(shown) else ""
    axes.set_xlabel(f"risk, as a multiple of the bound{more}")
