"""`pacbound simulate`: how well each posterior family approximates random Gaussians."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pacbound_cli.options import json_option

if TYPE_CHECKING:
    from pacbound.experiments.simulation import Simulation

__all__ = ["simulate"]


@click.command()
@click.option(
    "--shapes",
    metavar="LIST",
    help="Such as 3x4,2x8,2x3x4 [17 matrices from 2x2 to 10x10, 10 tensors from 2x2x2 to 5x5x5].",
)
@click.option(
    "--trials",
    type=click.IntRange(1, 1000),
    default=25,
    show_default=True,
    help="The number of targets of each shape.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--starts",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Starting points of the search for K-Linear's minimum. The first is Diag's solution.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The folder for simulation.json and the figure, simulation.svg.",
)
@json_option
def simulate(
    shapes: str | None, trials: int, seed: int, starts: int, output: Path | None, as_json: bool
) -> None:
    """Minimise KL(q‖p) over Diag, K-Diag and K-Linear for random Gaussians p.

    The targets have mean zero. Their covariance is the square of a random standard Gaussian matrix.
    On every target, K-Diag cannot be better than Diag, and K-Linear cannot be worse. Exit code 1:
    a trial contradicts this. The paper's figure takes a few minutes.

    \b
    Examples:
      pacbound simulate -o figure
      pacbound simulate --shapes 2x8,4x4,2x2x4 --trials 100
      pacbound simulate --shapes 3x4 --trials 5 --json
    """
    from pacbound.experiments.simulation.shapes import FIGURE, parse_shape
    from pacbound.files import ensure_writable
    from pacbound.report.figures import ensure_drawable

    chosen = FIGURE if shapes is None else tuple(map(parse_shape, shapes.split(",")))
    written = [] if output is None else [output / "simulation.json", output / "simulation.svg"]
    if written:
        ensure_writable(written[0])
        ensure_drawable(written[1])

    import torch

    from pacbound.experiments.simulation import simulate as run
    from pacbound_cli.certify import sampling_progress

    torch.set_num_threads(1)  # small products gain nothing from more, and the last bit differs
    try:
        with sampling_progress() as report:
            result = run(
                chosen,
                trials,
                seed,
                starts,
                lambda done, total: report("minimising KL", done, total),
            )
    except KeyboardInterrupt:
        click.echo("stopped; the same command starts again", err=True)
        raise click.exceptions.Exit(130) from None
    if written:
        from pacbound.experiments.simulation.plot import draw_simulation

        result.save(written[0])
        draw_simulation(result, written[1])
    if as_json:
        click.echo(result.to_json())
    else:
        _show(result, written)
    if not result.holds:
        raise click.exceptions.Exit(1)


def _show(result: Simulation, written: list[Path]) -> None:
    """Mean KLs in nats, the gain of K-Linear over Diag, and whether the families are in order."""
    from rich.console import Console
    from rich.table import Table

    table = Table("shape", title=f"KL(q‖p) in nats, mean of {_count(result.trials, 'trial')}")
    for column in ("d", "Diag", "K-Diag", "K-Linear", "gain on Diag", "in order"):
        table.add_column(column, justify="right")
    for one in result.outcomes:
        table.add_row(
            one.name,
            str(one.dimensions),
            *(f"{one.mean(family):.2f}" for family in one.kl),
            f"{one.gain:.1%}",
            f"{one.ordered} of {result.trials}",
        )
    console = Console()
    console.print(table)
    trials = result.trials * len(result.outcomes)
    ordered = sum(one.ordered for one in result.outcomes)
    console.print(
        f"K-Diag was not better and K-Linear not worse than Diag in {ordered} of "
        f"{_count(trials, 'trial')}"
    )
    unfinished = sum(
        result.trials - count for one in result.outcomes for count in one.converged.values()
    )
    if unfinished:
        console.print(f"{_count(unfinished, 'search')} ended before a minimum")
    for path in written:
        console.print(f"written to {path}", soft_wrap=True)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
