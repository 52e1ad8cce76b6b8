"""`pacbound rotate`: the posterior predictive of rotated digits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pacbound_cli.options import threads_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacbound.experiments.rotation.sweep import Sweep

__all__ = ["rotate"]


def _digits(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        digits = tuple(int(word) for word in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value} is not a list like 3,5") from None
    if min(digits) < 0 or len(set(digits)) < len(digits):
        raise click.BadParameter(f"{value} has a negative or repeated class")
    return digits


@click.command()
@click.argument(
    "checkpoints", metavar="CKPT...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--digits", default="3,5", show_default=True, callback=_digits, help="Classes, one panel each."
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="The number of networks to draw.",
)
@click.option("--from", "first", type=float, default=0.0, show_default=True, help="Degrees.")
@click.option("--to", "last", type=float, default=180.0, show_default=True, help="Degrees.")
@click.option(
    "--steps", type=click.IntRange(min=2), default=19, show_default=True, help="Number of angles."
)
@click.option(
    "--index",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The index of the test example within its class, from 0.",
)
@click.option(
    "--examples",
    "count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="The number of examples of each class, from --index on.",
)
@click.option("--data", "data_name", help="A named data set or .npz file [the first checkpoint's].")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("rotate.svg"),
    show_default=True,
    help="The figure: .svg, .png or .pdf.",
)
@click.option(
    "--json", "numbers", type=click.Path(path_type=Path), help="Write the numbers of the figure."
)
@threads_option
def rotate(
    checkpoints: tuple[Path, ...],
    digits: tuple[int, ...],
    samples: int,
    first: float,
    last: float,
    steps: int,
    index: int,
    count: int,
    data_name: str | None,
    output: Path,
    numbers: Path | None,
    threads: int | None,
) -> None:
    """Draw the predictions of each CKPT's posterior for rotated test digits.

    The figure has a row for each checkpoint and a panel for each digit. It shows the averaged class
    probabilities against the angle, counterclockwise, and their spread over the networks.

    \b
    Examples:
      pacbound rotate mlp.pt
      pacbound rotate diag.pt k-linear.pt --digits 3,5 -o rotate.svg --json rotate.json
      pacbound rotate mlp.pt --digits 7 --index 4 --from -90 --to 90
    """
    from pacbound.files import ensure_writable, write_whole
    from pacbound.report.figures import ensure_drawable

    if not -3600 <= first < last <= 3600:
        raise click.BadParameter(f"{first:g} to {last:g} is not a range", param_hint="--to")
    ensure_drawable(output)
    ensure_writable(output, *checkpoints, data_name)
    if numbers is not None:
        ensure_writable(numbers, *checkpoints, data_name)
        if numbers.resolve() == output.resolve():
            raise click.BadParameter(f"{numbers} is the figure", param_hint="--json")

    import numpy as np
    import torch

    from pacbound.data import load
    from pacbound.experiments.rotation.plot import draw_sweeps
    from pacbound.experiments.rotation.sweep import position_of, sweep
    from pacbound.predict import Predictor, examples_of
    from pacbound.predict.predictor import load_finished
    from pacbound_cli.certify import sampling_progress
    from pacbound_cli.data import fetching_bar

    if threads is not None:
        torch.set_num_threads(threads)
    loaded = [load_finished(path) for path in checkpoints]
    with fetching_bar() as progress:
        data = load(data_name or loaded[0].settings.data, progress)
    examples = examples_of(data)
    positions = [
        position_of(examples, digit, number)
        for digit in digits
        for number in range(index, index + count)
    ]
    predictors = [Predictor.of(path, data) for path in checkpoints]
    degrees = [float(angle) for angle in np.linspace(first, last, steps)]
    rows: list[tuple[str, list[Sweep]]] = []
    with sampling_progress() as report:
        for done, (path, predictor) in enumerate(zip(checkpoints, predictors, strict=True)):
            report("predicting", done, len(checkpoints))
            sweeps = [sweep(predictor, examples, place, degrees, samples) for place in positions]
            posterior = predictor.settings.posterior
            named = path.stem if path.stem == posterior else f"{path.stem} ({posterior})"
            rows.append((named, sweeps))
    draw_sweeps(rows, output)
    if numbers is not None:
        panels = [
            {
                "checkpoint": str(path),
                "posterior": predictor.settings.posterior,
                "seed": predictor.seed,
                "data": examples.data,
                "split": examples.split,
                **one.to_mapping(),
            }
            for path, predictor, (_, sweeps) in zip(checkpoints, predictors, rows, strict=True)
            for one in sweeps
        ]
        text = json.dumps(panels, indent=1, ensure_ascii=False)
        write_whole(numbers, lambda stream: stream.write(text.encode()))
    _show(rows, [output, *([numbers] if numbers else [])])


def _show(rows: Sequence[tuple[str, Sequence[Sweep]]], written: Sequence[Path]) -> None:
    """For each panel: its first confidence, its first error, and the largest disagreement."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pacbound.printable import printable

    table = Table("checkpoint", "digit")
    for column in ("at first", "lost at", "most disagreement"):
        table.add_column(column, justify="right")
    for title, sweeps in rows:
        for one in sweeps:
            figures = one.to_mapping()
            wrong = [
                angle
                for angle, row in zip(one.degrees, one.mean, strict=True)
                if row.argmax() != one.label
            ]
            epistemic = figures["epistemic"]
            most = max(range(len(epistemic)), key=epistemic.__getitem__)
            table.add_row(
                Text(printable(title.split(" ")[0])),
                f"{one.label} (no. {one.position})",
                f"{one.mean[0, one.label]:.1%}",
                f"{wrong[0]:g}°" if wrong else "–",
                f"{one.degrees[most]:g}°, {epistemic[most]:.2f} nats",
            )
    console = Console()
    console.print(table)
    for path in written:
        console.print(f"written to {path}", soft_wrap=True)
