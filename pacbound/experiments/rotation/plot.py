"""The figure of rotated digits: class probabilities against the angle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pacbound.experiments.rotation.sweep import Sweep
from pacbound.report.figures import drawing, literal, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_sweeps"]

SHOWN = 0.2  # another class gets a line if its probability reaches this at some angle
SPREAD = (25, 75)  # the percentiles of the networks that bound the band
MOST_IMAGES = 19


def draw_sweeps(rows: Sequence[tuple[str, Sequence[Sweep]]], path: Path) -> None:
    """One row of panels per posterior, one panel per image.

    Lines are the posterior predictive, bands contain the middle half of the networks, and dots are
    the networks.

    Arguments:
        rows: A title and the sweeps of each posterior.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    columns = len(rows[0][1])
    palette = colormaps["tab10"].colors  # type: ignore[attr-defined]
    with drawing():
        figure = Figure(figsize=(5.6 * columns, 2.9 * len(rows) + 0.5))
        grid = figure.add_gridspec(len(rows), columns, hspace=0.38, wspace=0.14)
        drawn: set[int] = set()
        for i, (title, sweeps) in enumerate(rows):
            for j, one in enumerate(sweeps):
                cell = grid[i, j].subgridspec(2, 1, height_ratios=[5, 1], hspace=0.04)
                panel = figure.add_subplot(cell[0])
                strip = figure.add_subplot(cell[1], sharex=panel)
                drawn |= _lines(panel, one, palette)
                _images(strip, one)
                panel.set_title(f"{literal(title)}: a rotated {one.label}", loc="left")
                if j == 0:
                    panel.set_ylabel("probability")
                if i == len(rows) - 1:
                    strip.set_xlabel("rotation in degrees")
        handles = [
            Line2D([], [], color=palette[k % len(palette)], linewidth=2, label=str(k))
            for k in sorted(drawn)
        ]
        figure.legend(
            handles=handles,
            title="class",
            loc="center left",
            bbox_to_anchor=(0.91, 0.5),
            frameon=False,
        )
    save_figure(figure, path)


def _lines(panel: Axes, one: Sweep, palette: Sequence[tuple[float, float, float]]) -> set[int]:
    """The classes that have a line."""
    degrees, mean = np.array(one.degrees), one.mean
    low, high = np.percentile(one.probabilities, SPREAD, axis=0)
    classes = [k for k in range(mean.shape[1]) if k == one.label or mean[:, k].max() >= SHOWN]
    for k in classes:
        style: dict[str, Any] = {"color": palette[k % len(palette)]}
        panel.fill_between(degrees, low[:, k], high[:, k], alpha=0.18, linewidth=0, **style)
        panel.plot(
            degrees,
            one.probabilities[:, :, k].T,
            ".",
            markersize=2,
            alpha=0.4,
            rasterized=True,
            **style,
        )
        panel.plot(degrees, mean[:, k], linewidth=2.8 if k == one.label else 1.4, **style)
    panel.set_ylim(-0.03, 1.03)
    panel.tick_params(labelbottom=False, bottom=False)
    return set(classes)


def _images(strip: Axes, one: Sweep) -> None:
    """The image at some of the angles, each centred at its angle."""
    degrees = one.degrees
    chosen = range(0, len(degrees), math.ceil(len(degrees) / MOST_IMAGES))
    half = 0.46 * (degrees[chosen[1]] - degrees[0])
    for k in chosen:
        image = one.images[k]
        shown = image if image.ndim == 2 else np.moveaxis(image, 0, -1).mean(-1)
        strip.imshow(
            shown,
            cmap="gray_r",
            extent=(degrees[k] - half, degrees[k] + half, 0, 1),
            aspect="auto",
            interpolation="nearest",
        )
    strip.set_xlim(degrees[0] - 1.2 * half, degrees[-1] + 1.2 * half)
    strip.set_ylim(0, 1)
    strip.set_yticks([])
    strip.locator_params(axis="x", nbins=7, steps=[1, 3, 4.5, 6, 9, 10])
    strip.spines[:].set_visible(False)
