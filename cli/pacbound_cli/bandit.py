"""`pacbound bandit`: let agents play a contextual bandit problem, and compare their regret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pacbound_cli.options import json_option, scheduler_option, workers_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacbound.experiments.bandit.cell import BanditCell
    from pacbound.experiments.tables.cell import Row

__all__ = ["bandit"]


@click.command()
@click.argument("problem")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    default=("k-linear", "linear"),
    show_default=True,
    help="greedy, fbnn, diag, k-diag, k-linear, k-nonlinear, linear, neural-linear, bootstrap, vw "
    "or uniform; may be repeated.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Runs of each agent; agents with the same seed play the same stream.",
)
@click.option(
    "--first-seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The first seed. Use other seeds for tuning than for the results you report.",
)
@click.option("--steps", type=click.IntRange(min=1), help="Contexts to play [all].")
@click.option(
    "--protocol",
    default="tuned",
    show_default=True,
    help="Which hyper-parameters: tuned, or untuned (the same for all problems, and for all agents "
    "but fbnn).",
)
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="A setting for every agent."
)
@workers_option
@scheduler_option
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("runs/bandit"),
    show_default=True,
    help="The folder for the files of the runs.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw regret curves: .svg, .png or .pdf.",
)
@json_option
def bandit(
    problem: str,
    agents: tuple[str, ...],
    seeds: int,
    first_seed: int,
    steps: int | None,
    protocol: str,
    overrides: tuple[str, ...],
    workers: int | None,
    scheduler: str,
    folder: Path,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Let agents play PROBLEM, a contextual bandit, and print their regret.

    PROBLEM is mushroom, statlog, covertype, financial, jester or adult, or an .npz file with the
    arrays contexts (steps, size) and rewards (steps, arms), the reward of every arm. If rewards are
    random, add optimal (steps,), the reward that regret is measured against.

    Each agent and seed has a folder, named by its settings. The same command resumes stopped runs
    and skips finished ones. Exit code 1: a run failed.

    \b
    Examples:
      pacbound bandit mushroom
      pacbound bandit statlog --agent k-linear --agent diag --steps 5000 --plot regret.svg
      pacbound bandit financial --agent k-nonlinear --set noise=0.2 --first-seed 1000
      pacbound bandit mine.npz --agent linear --agent k-linear --seeds 5 --workers 2
    """
    from pacbound.files import ensure_writable
    from pacbound.recipes import parse_override

    if plot is not None:
        from pacbound.report.figures import ensure_drawable

        ensure_drawable(plot)
    ensure_writable(folder / "lock")

    from pacbound.experiments.bandit.cell import BanditCell
    from pacbound.experiments.bandit.recipes import settings_of_all
    from pacbound.experiments.bandit.rows import rows as rows_of
    from pacbound_cli.running import end_with, run_cells

    given = dict(parse_override(text) for text in overrides)
    settings = settings_of_all(agents, problem, protocol, given)
    numbers = range(first_seed, first_seed + seeds)
    cells = [
        BanditCell(problem, agent, seed, settings[agent], steps)
        for seed in numbers
        for agent in settings
    ]
    failures = run_cells(cells, folder, workers, threads=1, scheduler=scheduler)
    rows = rows_of(cells, folder, protocol)
    if plot is not None:
        _draw(cells, folder, rows, plot)
    if as_json:
        record = {
            "problem": cells[0].label,
            "steps": _steps(rows),
            "protocol": protocol,
            "seeds": list(numbers),
            "uniform": 100.0,
            "best_fixed_arm": rows[0]["best_fixed_arm"],
            "agents": rows,
            "plot": None if plot is None else str(plot),
        }
        click.echo(json.dumps(record, indent=1, ensure_ascii=False))
    else:
        _print(cells[0].label, rows, plot)
    end_with(failures)


def _steps(rows: Sequence[Row]) -> int | None:
    """The number of contexts played; None if no run has finished."""
    runs = [run for row in rows for run in row["runs"]]
    return next((run["steps"] for run in runs if run["steps"] is not None), None)


def _title(problem: str, rows: Sequence[Row]) -> str:
    steps = _steps(rows)
    return problem if steps is None else f"{problem}, {steps} contexts"


def _print(problem: str, rows: Sequence[Row], plot: Path | None) -> None:
    from rich.console import Console

    from pacbound.experiments.bandit.view import render_problem
    from pacbound.printable import printable

    Console().print(render_problem(_title(printable(problem), rows), rows))
    if plot is not None and _steps(rows) is not None:
        click.echo(f"drawn: {plot}")


def _draw(cells: Sequence[BanditCell], folder: Path, rows: Sequence[Row], path: Path) -> None:
    """The regret curves of the finished runs; nothing if there are none."""
    from pacbound.experiments.bandit.plot import Curve, draw_regret
    from pacbound.experiments.tables.place import Place

    done = {run["name"] for row in rows for run in row["runs"] if run["state"] == "done"}
    curves: dict[str, list[Curve]] = {}
    for cell in cells:
        if cell.name in done:
            found: dict[str, Any] = cell.record(Place.of(cell, folder).path)["curve"]
            curve = Curve(found["steps"], found["normalized_regret"])
            curves.setdefault(cell.agent, []).append(curve)
    if curves:
        title = _title(cells[0].label, rows)
        draw_regret(title, curves, rows[0]["best_fixed_arm"]["mean"], path)
