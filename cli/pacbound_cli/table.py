"""`pacbound table`: run or resume a table, and print it beside published figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pacbound_cli.options import json_option, scheduler_option, workers_option

if TYPE_CHECKING:
    from pacbound.experiments.tables.cell import Table

__all__ = ["table"]

PLAYING = ("seeds", "first_seed", "steps")  # options for bandits


@click.command()
@click.argument("name")
@click.option("--network", multiple=True, help="Only this network (lenet-5, …); may be repeated.")
@click.option("--objective", multiple=True, help="Only this objective: pinsker, catoni or ours.")
@click.option("--posterior", multiple=True, help="Only this posterior: diag, k-diag, k-linear, …")
@click.option("--problem", multiple=True, help="Bandits: mushroom, statlog, …; keel: wdbc, …")
@click.option("--agent", multiple=True, help="Bandits: greedy, diag, k-linear, linear, …")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="A setting for every cell."
)
@click.option("--draws", type=click.IntRange(min=1), help="As in certify.")
@click.option("--weights", type=click.IntRange(min=1), help="As in certify.")
@click.option("--samples", type=click.IntRange(min=1), help="As in certify; vi: networks to draw.")
@click.option("--seeds", type=click.IntRange(min=1), help="Bandits: runs of each agent [10; 5].")
@click.option("--first-seed", type=click.IntRange(min=0), help="Bandits: the first seed [0].")
@click.option("--steps", type=click.IntRange(min=1), help="Bandits: contexts to play [all].")
@click.option(
    "--place",
    type=click.IntRange(min=2),
    help="keel: the tables were certified before; the place of these certificates in the order.",
)
@workers_option
@scheduler_option
@click.option("--folder", type=click.Path(path_type=Path), help="The cells' folder [runs/NAME].")
@click.option("--show", is_flag=True, help="Print the table without running anything.")
@click.option(
    "--publish",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Copy the finished certificates, evaluations or bandit results to this folder.",
)
@json_option
def table(
    name: str,
    network: tuple[str, ...],
    objective: tuple[str, ...],
    posterior: tuple[str, ...],
    problem: tuple[str, ...],
    agent: tuple[str, ...],
    overrides: tuple[str, ...],
    workers: int | None,
    scheduler: str,
    folder: Path | None,
    show: bool,
    publish: Path | None,
    as_json: bool,
    **numbers: int | None,
) -> None:
    """Run the missing cells of the table NAME and print it.

    NAME is pac-bayes, learned, vi, bandit, bandit-untuned or keel.

    Each cell has a folder, named by its settings. The same command resumes what was stopped, by
    Ctrl-C or a crash, and skips finished cells. It may run several times at once. Exit code 1: a
    cell failed. --show runs nothing; for cells that have not run in runs/NAME, it shows the results
    that this project published.

    \b
    Examples:
      pacbound table pac-bayes --show
      pacbound table pac-bayes --network mlp-600 --workers 2
      pacbound table pac-bayes --objective ours --publish certificates
      pacbound table pac-bayes --network lenet-5 --posterior diag --set epochs=2 --weights 500
      pacbound table pac-bayes --network mlp-600-blocks --set products=bfloat16
      pacbound table learned --network mnist-resnet-learned --publish certificates
      pacbound table vi --network lenet-5 --workers 2
      pacbound table bandit --workers 2 --publish results/bandit
      pacbound table keel --publish results/keel
      pacbound table keel --problem ring --place 2
      pacbound table bandit-untuned --problem statlog --agent diag --agent k-linear --seeds 5
    """
    from pacbound.experiments.tables import table_named
    from pacbound.experiments.tables.published import published_folder, rows_with_published
    from pacbound.experiments.tables.selection import Selection
    from pacbound.files import ensure_writable
    from pacbound.recipes import parse_override
    from pacbound_cli.running import end_with, run_cells

    chosen = table_named(name)
    given = {key: value for key, value in numbers.items() if value is not None}
    selection = Selection(
        networks=network,
        objectives=objective,
        posteriors=posterior,
        overrides=dict(parse_override(text) for text in overrides),
        sampling={key: value for key, value in given.items() if key not in PLAYING},
        problems=problem,
        agents=agent,
        playing={key: value for key, value in given.items() if key in PLAYING},
    )
    cells = chosen.cells(selection)
    root = folder or Path("runs") / name
    if publish is not None:
        ensure_writable(publish / "certificate.json")
    failures = {} if show else run_cells(cells, root, workers, chosen.threads, scheduler)
    changed = selection.overrides or selection.sampling
    source = None if not show or folder or changed else published_folder(chosen.published)
    if source is None:
        rows = chosen.rows(cells, root)
    else:
        shown = rows_with_published(chosen, cells, root, source)
        rows = shown.rows
        if shown.borrowed:
            click.echo(
                f"{shown.borrowed} of {len(cells)} cells are shown as published in {source}; they "
                f"have not run in {root}",
                err=True,
            )
        if shown.passed_over:
            click.echo(
                f"{shown.passed_over} of {len(cells)} cells are not shown: what is published in "
                f"{source} has other settings, or does not hold",
                err=True,
            )
    if as_json:
        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        _print(chosen, rows)
    if publish is not None:
        _publish(chosen, cells, root, publish)
    end_with(failures)


def _print(chosen: Table, rows: list[dict[str, Any]]) -> None:
    from rich.console import Console

    Console().print(chosen.render(rows))


def _publish(chosen: Table, cells: list[Any], root: Path, target: Path) -> None:
    from pacbound.experiments.tables.place import Place
    from pacbound.files import write_whole

    count = 0
    for cell in cells:
        place = Place.of(cell, root)
        if cell.finished(place.path).finished:
            for file, path in chosen.results(cell, place.path).items():
                content = path.read_bytes()
                write_whole(
                    target / file,
                    lambda stream, content=content: stream.write(content),  # type: ignore[misc]
                )
            count += 1
    click.echo(f"published {count} of {len(cells)} in {target}", err=True)
