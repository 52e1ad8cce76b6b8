"""The figure of one network's uncertainty: all posteriors side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacbound.experiments.vi.corruption import CORRUPTIONS, STRENGTHS
from pacbound.report.figures import drawing, literal, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_uncertainty"]

FEWEST = 20  # a bin of the reliability diagram with fewer examples is left out


def draw_uncertainty(title: str, records: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Calibration, abstention, corrupted images and learning curves.

    Arguments:
        title: The name of the network.
        records: The published record of each posterior, with its `uncertainty`.
        path: The file; its suffix selects the format.
    """
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(9.5, 7.2))
        panels = figure.subplots(2, 2, gridspec_kw={"hspace": 0.34, "wspace": 0.26})
        for panel, draw in zip(
            panels.flat, (_calibration, _abstention, _corruption, _learning), strict=True
        ):
            for number, (name, record) in enumerate(records.items()):
                draw(panel, record, {"color": f"C{number}", "label": literal(name)})
        _name(panels.flat, title)
        panels.flat[0].legend(frameon=False, loc="upper left")
    save_figure(figure, path)


def _name(panels: Sequence[Axes], title: str) -> None:
    from matplotlib.ticker import LogLocator

    calibration, abstention, corruption, learning = panels
    calibration.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1, label="calibrated")
    calibration.set(
        title=f"{literal(title)}: calibration",
        xlabel="confidence",
        ylabel="accuracy",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    abstention.set(
        title="abstaining by entropy",
        xlabel="share of test images answered",
        ylabel="error on those, per cent",
        xlim=(0, 1.02),
    )
    abstention.set_ylim(bottom=0)
    corruption.set(
        title="corrupted test images",
        xlabel="strength (mean of noise, blur and contrast)",
        ylabel="error, per cent",
        xticks=STRENGTHS,
    )
    learning.set(
        title="training (lines) and test error (dotted)",
        xlabel="epoch",
        ylabel="error, per cent",
        yscale="log",
    )
    learning.yaxis.set_major_formatter("{x:g}")
    learning.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    learning.yaxis.set_minor_formatter("{x:g}")


def _calibration(panel: Axes, record: Mapping[str, Any], style: Mapping[str, Any]) -> None:
    bins = [part for part in record["evaluation"]["bins"] if part["examples"] >= FEWEST]
    panel.plot(
        [part["confidence"] for part in bins],
        [part["accuracy"] for part in bins],
        marker="o",
        markersize=3,
        **style,
    )


def _abstention(panel: Axes, record: Mapping[str, Any], style: Mapping[str, Any]) -> None:
    points = record["uncertainty"]["abstention"]
    panel.plot(
        [point["coverage"] for point in points], [100 * point["error"] for point in points], **style
    )


def _corruption(panel: Axes, record: Mapping[str, Any], style: Mapping[str, Any]) -> None:
    errors = {
        (part["kind"], part["strength"]): part["error"]
        for part in record["uncertainty"]["corrupted"]
    }
    means = [
        100 * sum(errors[kind, strength] for kind in CORRUPTIONS) / len(CORRUPTIONS)
        for strength in STRENGTHS
    ]
    panel.plot(STRENGTHS, means, marker="o", markersize=3, **style)


def _learning(panel: Axes, record: Mapping[str, Any], style: Mapping[str, Any]) -> None:
    # A posterior with flows begins as another one, whose curve is drawn already.
    settings = record["settings"]
    linear = settings.get("linear_epochs", 0)
    earlier = linear + settings.get("warm_start_epochs", 0) if linear else 0
    points = [point for point in record["curve"] if point["risk"] > 0 and point["epoch"] >= earlier]
    panel.plot(
        [point["epoch"] for point in points], [100 * point["risk"] for point in points], **style
    )
    watched = [point for point in points if point.get("test_error")]
    panel.plot(
        [point["epoch"] for point in watched],
        [100 * point["test_error"] for point in watched],
        linestyle=":",
        color=style["color"],
    )
