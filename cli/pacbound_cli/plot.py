"""`pacbound plot`: figures of training runs, from their logs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pacbound_cli.options import json_option

if TYPE_CHECKING:
    from pacbound.report.training_log import TrainingLog

__all__ = ["plot"]


@click.command()
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--against",
    type=click.Choice(["time", "epoch"]),
    default="time",
    show_default=True,
    help="The horizontal axis. The plot of time to bound always uses time.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The figure: .png, .svg or .pdf [plot.png; none with --json].",
)
@json_option
def plot(logs: tuple[Path, ...], against: str, output: Path | None, as_json: bool) -> None:
    """Draw training runs from their logs, NAME.log.jsonl beside the checkpoint NAME.pt.

    One run: bound and risk, KL, the objective, the prior's variances, β and Lipschitz constants,
    where it has them. Several runs: how soon each one reached which bound. The bound is that of
    training, without the Monte Carlo allowance that a certificate adds. A run may still be
    in progress. A checkpoint may be given instead of its log.

    \b
    Examples:
      pacbound plot mlp.log.jsonl
      pacbound plot mlp.pt --against epoch -o mlp.svg
      pacbound plot runs/*.log.jsonl -o time-to-bound.png
      pacbound plot mlp.log.jsonl --json
    """
    from pacbound.printable import printable_json
    from pacbound.report.figures import ensure_drawable
    from pacbound.report.run_summary import summary
    from pacbound.report.training_log import read_training_log
    from pacbound.report.training_plot import draw_run, draw_runs
    from pacbound.training.log import log_path

    path = output or (None if as_json else Path("plot.png"))
    if path is not None:
        ensure_drawable(path)
    runs = [read_training_log(log_path(log) if log.suffix == ".pt" else log) for log in logs]
    if path is not None:
        if len(runs) == 1:
            draw_run(runs[0], path, against)
        else:
            draw_runs(runs, path, against)
    if as_json:
        rows = [{**asdict(summary(run)), "series": _series(run)} for run in runs]
        click.echo(printable_json(json.dumps(rows, indent=1, ensure_ascii=False)))
        return
    _show(runs)
    click.echo(f"written to {path}")


def _series(run: TrainingLog) -> dict[str, Any]:
    """All figures of all epochs; null for missing ones, since JSON has no NaN."""
    from pacbound.report.training_log import SERIES
    from pacbound.training.log import LAYERED

    def finite(values: tuple[float, ...]) -> list[float | None]:
        return [value if math.isfinite(value) else None for value in values]

    return {
        "epoch": list(run.epochs),
        "phase": list(run.phases),
        **{name: finite(run.series(name)) for name in SERIES},
        **{name: [finite(line) for line in run.layers(name)] for name in LAYERED},
    }


def _show(runs: list[TrainingLog]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pacbound.printable import printable
    from pacbound.report.run_summary import summary

    def percent(value: float | None) -> str:
        return "–" if value is None else f"{value:.2%}"

    table = Table()
    table.add_column("run", overflow="fold")
    for column in ("epochs", "seconds", "bound", "best", "within 1 % at"):
        table.add_column(column, justify="right")
    for run in runs:
        done = summary(run)
        near = done.seconds_to_within_1_percent
        table.add_row(
            Text(printable(done.name)),
            str(done.epochs),
            f"{done.seconds:.0f}",
            percent(done.final_bound),
            percent(done.best_bound),
            "–" if near is None else f"{near:.0f} s",
        )
    Console().print(table)
