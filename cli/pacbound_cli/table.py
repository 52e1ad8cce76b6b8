"""`pacbound table`: run or resume one of the paper's tables, and print it beside the paper's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pacbound_cli.options import json_option

if TYPE_CHECKING:
    from pacbound.tables.cell import Table

__all__ = ["table"]


@click.command()
@click.argument("name")
@click.option("--network", multiple=True, help="Only this one (lenet-5, …); may be repeated.")
@click.option("--objective", multiple=True, help="Only this one: pinsker, catoni or ours.")
@click.option("--posterior", multiple=True, help="Only this one: diag, k-diag, k-linear, …")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="A setting, for every cell."
)
@click.option("--draws", type=click.IntRange(min=1), help="Of certification: see certify.")
@click.option("--weights", type=click.IntRange(min=1), help="Of certification: see certify.")
@click.option("--samples", type=click.IntRange(min=1), help="Of certification, or of networks: vi.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Cells to run side by side; they share the cores.",
)
@click.option("--folder", type=click.Path(path_type=Path), help="For the cells' files [runs/NAME].")
@click.option("--show", is_flag=True, help="Print the table as it is; run nothing.")
@click.option(
    "--publish",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Copy the finished certificates, or evaluations, there.",
)
@json_option
def table(
    name: str,
    network: tuple[str, ...],
    objective: tuple[str, ...],
    posterior: tuple[str, ...],
    overrides: tuple[str, ...],
    jobs: int,
    folder: Path | None,
    show: bool,
    publish: Path | None,
    as_json: bool,
    **sampling: int | None,
) -> None:
    """Run the table NAME (pac-bayes or vi), or what is missing of it, and print it.

    Every cell is kept in a folder that its settings determine. The same command continues what was
    stopped, by Ctrl-C or worse, and does nothing again that is done; it may run several times at
    once. Exit code 1: a cell failed.

    \b
    Examples:
      pacbound table pac-bayes --show
      pacbound table pac-bayes --network mlp-600 --jobs 2
      pacbound table pac-bayes --objective ours --publish certificates
      pacbound table pac-bayes --network lenet-5 --posterior diag --set epochs=2 --weights 500
      pacbound table vi --network lenet-5 --jobs 2
    """
    from pacbound.files import ensure_writable
    from pacbound.recipes import parse_override
    from pacbound.tables import table_named
    from pacbound.tables.place import Place
    from pacbound.tables.selection import Selection

    chosen = table_named(name)
    selection = Selection(
        network,
        objective,
        posterior,
        dict(parse_override(text) for text in overrides),
        {key: value for key, value in sampling.items() if value is not None},
    )
    cells = chosen.cells(selection)
    root = folder or Path("runs") / name
    if publish is not None:
        ensure_writable(publish / "certificate.json")
    failures = {} if show else _run(cells, root, jobs)
    rows = [chosen.row(cell, Place.of(cell, root).path) for cell in cells]
    if as_json:
        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        _print(chosen, rows)
    if publish is not None:
        _publish(chosen, cells, root, publish)
    if failures:
        count = "1 cell" if len(failures) == 1 else f"{len(failures)} cells"
        click.echo(f"{count} failed; the same command tries again", err=True)
        raise click.exceptions.Exit(1)


def _run(cells: list[Any], root: Path, jobs: int) -> dict[str, str]:
    """Run what is to be run; the failures, by cell."""
    from pacbound.data import load
    from pacbound.files import ensure_writable
    from pacbound.tables.display import forecast, watching
    from pacbound.tables.pool import Pool
    from pacbound_cli.data import fetching_bar

    ensure_writable(root / "lock")
    pool = Pool(cells, root, jobs, max(1, (os.cpu_count() or 1) // jobs))
    try:
        with watching(pool) as watcher:
            pool.survey(watcher)
        with fetching_bar() as progress:  # once, and not in every child process
            for data in sorted({cell.data for cell in pool.waiting}):
                load(data, progress)
        with watching(pool) as watcher:
            pool.probe(watcher)
            watcher.say(forecast(pool))
            pool.run(watcher)
    except KeyboardInterrupt:
        click.echo(
            f"stopped, {len(pool.finished)} of {len(cells)} done; the same command continues",
            err=True,
        )
        raise click.exceptions.Exit(130) from None
    return pool.failures


def _print(chosen: Table, rows: list[dict[str, Any]]) -> None:
    from rich.console import Console

    Console().print(chosen.render(rows))


def _publish(chosen: Table, cells: list[Any], root: Path, target: Path) -> None:
    from pacbound.files import write_whole
    from pacbound.tables.place import Place

    count = 0
    for cell in cells:
        place = Place.of(cell, root)
        if cell.finished(place.path).finished:
            content = chosen.result(cell, place.path).read_bytes()
            write_whole(
                target / f"{cell.name}.json",
                lambda stream, content=content: stream.write(content),  # type: ignore[misc]
            )
            count += 1
    click.echo(f"published {count} of {len(cells)} in {target}", err=True)
