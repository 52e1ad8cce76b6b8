"""`pacbound off-policy`: the value of agents on a user's logged data, with confidence limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pacbound_cli.options import json_option

__all__ = ["off_policy"]


@click.command("off-policy")
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "--agent",
    "agents",
    multiple=True,
    default=("k-linear", "linear"),
    show_default=True,
    help="As in bandit; may be repeated.",
)
@click.option(
    "--rewards",
    nargs=2,
    type=float,
    default=(0.0, 1.0),
    show_default=True,
    metavar="LOW HIGH",
    help="The range that rewards can have, known beforehand.",
)
@click.option(
    "--min-propensity",
    type=float,
    metavar="P",
    help="The logging policy chose every arm with at least this probability in every context. "
    "Needed by dr and replay, unless the log's choices are uniform.",
)
@click.option(
    "--estimator",
    "estimators",
    multiple=True,
    help="dr, ips or replay; may be repeated [all that can be used].",
)
@click.option(
    "--delta", type=float, default=0.05, show_default=True, help="For all limits together."
)
@click.option(
    "--train-share",
    type=float,
    default=0.5,
    show_default=True,
    help="The share of the rows, the first ones, on which agents are trained for dr and ips.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Draws of an agent's choice for each row.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="A setting for every agent."
)
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the limits: .svg, …"
)
@json_option
def off_policy(
    log: Path,
    agents: tuple[str, ...],
    rewards: tuple[float, float],
    min_propensity: float | None,
    estimators: tuple[str, ...],
    delta: float,
    train_share: float,
    draws: int,
    seed: int,
    overrides: tuple[str, ...],
    plot: Path | None,
    as_json: bool,
) -> None:
    """Estimate the mean reward of agents from LOG, the log of another policy.

    LOG is a .csv file with the columns action, reward and propensity (the probability with which
    the action was chosen); all other columns are the context, scaled by the first tenth of the
    rows. Or an .npz file with the arrays contexts (n, d), actions, rewards and propensities. Rows
    are in the order of time.

    ips and dr train an agent on the first rows and evaluate its policy, then fixed, on the others:
    by importance weights, and by the doubly robust estimate with linear regression. replay lets a
    fresh agent learn from the rows where it chooses what the log did.

    \b
    Examples:
      pacbound off-policy log.csv
      pacbound off-policy log.csv --agent k-linear --estimator dr --plot value.svg
      pacbound off-policy log.csv --rewards -10 10 --min-propensity 0.05 --json
    """
    from pacbound.experiments.bandit.logged import Plan, evaluate, read_log
    from pacbound.experiments.bandit.recipes import settings_of_all
    from pacbound.recipes import parse_override

    if plot is not None:
        from pacbound.report.figures import ensure_drawable

        ensure_drawable(plot)
    given = dict(parse_override(text) for text in overrides)
    settings = settings_of_all(agents, str(log), overrides=given)
    plan = Plan(train_share, draws, delta, rewards[0], rewards[1], min_propensity, estimators, seed)
    record = evaluate(read_log(log), settings, plan)
    if plot is not None:
        from pacbound.experiments.bandit.logged.plot import draw_evaluation

        draw_evaluation(record, plot)
    if as_json:
        record["plot"] = None if plot is None else str(plot)
        click.echo(json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _print(record, plot)


def _print(record: dict[str, Any], plot: Path | None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from pacbound.printable import printable

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for name in ("agent", "estimator", "rows", "mean reward", "better than the log by"):
        justify = "right" if name == "rows" else "left"
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for agent in record["agents"]:
        for kind, found in agent["estimates"].items():
            table.add_row(
                agent["agent"],
                kind,
                str(found["rows"]),
                _interval(found["value"]),
                _interval(found.get("improvement")),
            )
    console = Console()
    console.print(f"{printable(record['log'])}: {record['rows']} rows, {len(record['arms'])} arms")
    console.print(table)
    console.print(
        f"The log's own mean reward, after the first {record['train_rows']} rows: "
        f"{record['logging_policy']:.4g}. All limits hold together with probability "
        f"{1 - record['delta']:g}.",
        style="dim",
    )
    if record["min_propensity"] is None:
        console.print(
            "dr and replay need the smallest probability with which the logging policy chose any "
            "arm: give --min-propensity.",
            style="yellow",
        )
    if record["rows_without_choice"]:
        console.print(
            f"In {record['rows_without_choice']} rows the propensity is 1: the logging policy had "
            "no choice there. Rewards of other arms are unknown in such contexts, so limits are "
            "wide and estimates are not to be trusted.",
            style="yellow",
        )
    if plot is not None:
        click.echo(f"drawn: {plot}")


def _interval(found: dict[str, float | None] | None) -> str:
    if found is None:
        return "–"
    estimate, lower, upper = (
        "–" if number is None else f"{round(number, 12):.3g}"
        for number in (found[name] for name in ("estimate", "lower", "upper"))
    )
    return f"{estimate}  ({lower} to {upper})"
