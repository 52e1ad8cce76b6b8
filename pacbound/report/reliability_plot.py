"""The reliability diagram: accuracy against confidence."""

from __future__ import annotations

from pathlib import Path

from pacbound.predict.evaluation import Evaluation
from pacbound.report.figures import drawing, literal, save_figure

__all__ = ["draw_reliability"]


def draw_reliability(evaluation: Evaluation, title: str, path: Path) -> None:
    """Accuracy in each confidence bin beside the diagonal, and the number of examples."""
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(4.2, 5.2))
        top, bottom = figure.subplots(
            2, 1, sharex=True, height_ratios=[3, 1], gridspec_kw={"hspace": 0.08}
        )
        filled = [part for part in evaluation.bins if part.examples]
        lefts = [part.lower for part in filled]
        widths = [part.upper - part.lower for part in filled]
        accuracies = [part.accuracy or 0.0 for part in filled]
        confidences = [part.confidence or 0.0 for part in filled]
        style = {"align": "edge", "edgecolor": "white", "linewidth": 0.6}
        shared = list(map(min, accuracies, confidences))
        gaps = [a - c for a, c in zip(accuracies, confidences, strict=True)]
        too_little, too_much = [max(gap, 0) for gap in gaps], [max(-gap, 0) for gap in gaps]
        top.bar(lefts, shared, widths, color="#4477aa", **style)
        top.bar(
            lefts,
            too_little,
            widths,
            shared,
            color="#99bbdd",
            label="more often right than sure",
            **style,
        )
        top.bar(
            lefts, too_much, widths, shared, color="#ee8866", label="more sure than right", **style
        )
        top.plot([0, 1], [0, 1], color="0.4", linestyle="--", linewidth=1, label="calibrated")
        top.set(ylim=(0, 1), ylabel="accuracy", title=literal(title))
        top.text(
            0.97,
            0.05,
            f"ECE {evaluation.expected_calibration_error:.2%}\n"
            f"error {evaluation.error:.2%}\n"
            f"{evaluation.samples} networks",
            transform=top.transAxes,
            horizontalalignment="right",
            bbox={"facecolor": "white", "edgecolor": "0.8", "pad": 4},
        )
        top.legend(loc="upper left", frameon=False)
        counts = [part.examples for part in filled]
        bottom.bar(lefts, counts, widths, color="0.65", **style)
        bottom.set(xlim=(0, 1), xlabel="confidence", ylabel="examples", yscale="log")
        bottom.set_ylim(bottom=0.8)
    save_figure(figure, path)
