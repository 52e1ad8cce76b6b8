"""Run cells in parallel and show their progress: for `table` and `bandit`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pacbound.experiments.tables.cell import Cell

__all__ = ["end_with", "run_cells"]


def run_cells(
    cells: Sequence[Cell],
    root: Path,
    workers: int | None,
    threads: int | None = None,
    scheduler: str = "",
) -> dict[str, str]:
    """Run the unfinished cells and return the failures by cell.

    Arguments:
        cells: All cells. Finished ones are not run again.
        root: The folder that contains the cells' folders.
        workers: The number of parallel workers; None for one per core, or all of a cluster's.
        threads: Threads of each worker; None for its share of the cores.
        scheduler: The address of a Dask scheduler. Its cluster is used instead of this machine.
    """
    from pacbound.experiments.tables.display import forecast, watching
    from pacbound.experiments.tables.pool import Pool
    from pacbound.files import ensure_writable
    from pacbound.workers.choice import available_cores, engine_for, threads_each
    from pacbound_cli.data import fetching_bar

    ensure_writable(root / "lock")
    with engine_for(workers or max(1, min(len(cells), available_cores())), scheduler) as engine:
        workers = workers or engine.count
        own = 1 if scheduler else threads_each(workers)  # a cluster's worker is one thread
        pool = Pool(cells, root, workers, threads or own, engine)
        try:
            with watching(pool) as watcher:
                pool.survey(watcher)
            with fetching_bar() as progress:  # once here, not in every child process
                needed = {cell.data: cell for cell in reversed(pool.waiting)}
                for _, cell in sorted(needed.items()):
                    cell.fetch(progress)
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


def end_with(failures: dict[str, str]) -> None:
    """Exit with code 1 if a cell failed."""
    if failures:
        count = "1 cell" if len(failures) == 1 else f"{len(failures)} cells"
        click.echo(f"{count} failed; the same command tries again", err=True)
        raise click.exceptions.Exit(1)
