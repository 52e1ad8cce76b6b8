"""`pacbound monitor`: watch the claims of a certificate after deployment."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pacbound_cli.options import json_option

if TYPE_CHECKING:
    from rich.table import Table

    from pacbound.monitoring import Monitored

__all__ = ["monitor"]

MOST = 40  # claims shown in the table
BAR = 8  # characters


def _alpha(ctx: click.Context, param: click.Parameter, value: str | None) -> Decimal | None:
    try:
        found = None if value is None else Decimal(value)
    except InvalidOperation:
        found = Decimal(0)
    if found is not None and not (found.is_finite() and 0 < found < 1):
        raise click.BadParameter(f"{value} is not between 0 and 1; 1 % is 0.01")
    return found


def _claims(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [name.strip() for name in value.split(",")]


@click.command()
@click.argument("certificate", metavar="CERT", type=click.Path(path_type=Path))
@click.argument("outcomes", metavar="OUTCOMES.csv", type=click.Path(path_type=Path))
@click.option(
    "--alpha",
    metavar="A",
    callback=_alpha,
    help="The probability of a false alarm, ever; divided equally among the claims that are "
    "watched [0.01]. A state keeps its own.",
)
@click.option(
    "--claims",
    metavar="KINDS",
    callback=_claims,
    help="The kinds of claims to watch, separated by commas: overall, per-class, predicted-class, "
    "groups, answered, cost [all whose columns are there]. Select before you look.",
)
@click.option(
    "--state",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Continue from this file if it exists, and write to it. OUTCOMES.csv is the whole "
    "history: it must begin with the rows that the state has seen.",
)
@click.option("--append", is_flag=True, help="OUTCOMES.csv has new rows alone. Needs --state.")
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Draw the evidence to a .png, .svg or .pdf file.",
)
@json_option
def monitor(
    certificate: Path,
    outcomes: Path,
    alpha: Decimal | None,
    claims: list[str] | None,
    state: Path | None,
    append: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Compare the outcomes of a deployed predictor with the claims of its certificate CERT.

    Each claim is a bet: its evidence grows while outcomes are worse than the bound. You may look as
    often as you like, for years. While all claims hold, the probability of ever raising an alarm is
    at most alpha, which is divided among the claims that are watched. Beside the evidence stands a
    lower limit of the risk, which is valid at all times together.

    OUTCOMES.csv has one row for each new input, in the order of arrival. Columns: label and
    prediction (the names of classes, or numbers from 0 if the certificate records no names), or
    error (0 or 1); group, answered (0 or 1) and cost (0 to 1) for claims about them. Other columns
    are ignored.

    Outcomes must be unselected: which inputs get a label must not depend on whether the prediction
    was wrong. Complaints, or cases of low confidence, are a selection, and an alarm then means
    nothing.

    Exit code 0: no claim is refuted; 1: a claim is refuted; 2: bad input, and the state is as it
    was.

    \b
    Examples:
      pacbound monitor certificates/mlp.json outcomes.csv
      pacbound monitor certificates/mlp.json outcomes.csv --state state.json --plot evidence.png
      pacbound monitor certificates/mlp.json today.csv --state state.json --append --json
    """
    from pacbound.monitoring import observe
    from pacbound.printable import printable, printable_json
    from pacbound.report.figures import ensure_drawable
    from pacbound.report.monitor_plot import draw_monitored

    if append and state is None:
        raise click.UsageError("--append continues a state: give --state FILE.")
    if plot is not None:
        ensure_drawable(plot)
    result, save = observe(
        certificate, outcomes, alpha=alpha, claims=claims, state=state, append=append
    )
    if plot is not None:
        draw_monitored(result, certificate.name, plot)
    if as_json:
        found = json.dumps({"certificate": str(certificate), **result.fields()}, indent=1)
        text = printable_json(found)
    else:
        text = _shown(result)
    _echo(text)
    # Only a result that was shown is kept: with --append, a second try would count rows twice.
    save()
    if not as_json:
        written = [printable(f"written to {path}") for path in (state, plot) if path is not None]
        _echo(*written)
    raise SystemExit(1 if result.refuted else 0)


def _echo(*lines: str) -> None:
    """Print lines. Who reads them may stop, as `head` does; the exit code stays the claims'."""
    try:
        for line in lines:
            click.echo(line)
    except OSError as error:
        # What could not be printed is still in the buffer, and would fail again at the exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def _shown(result: Monitored) -> str:
    """The table and the conclusion, with the colours of the terminal."""
    from rich.console import Console

    from pacbound.printable import printable
    from pacbound.report.evidence import conclusion

    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(_table(result))
        for name, reason in result.left_out.items():
            console.print(printable(f"not watched: {name} ({reason})"), markup=False, style="dim")
        if result.new_rows < result.rows:
            console.print(f"{result.new_rows} of the {result.rows} outcomes are new.")
        if result.other_groups:
            console.print(printable(_other_groups(result)), markup=False, soft_wrap=True)
        for line in conclusion(result):
            style = "bold red" if result.refuted else ""
            console.print(printable(line), markup=False, style=style, soft_wrap=True)
    return captured.get().removesuffix("\n")


def _other_groups(result: Monitored) -> str:
    """How many outcomes no claim about a group sees: a misspelt name would be never watched."""
    names = [each.claim.group for each in result.claims if each.claim.group is not None]
    known = ", ".join(f"“{name}”" for name in names[:5]) + (", …" if len(names) > 5 else "")
    many = f"{result.other_groups} of the {result.new_rows} new outcomes"
    return f"{many} are in groups without a claim; claims are about {known}"


def _table(result: Monitored) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from pacbound.report.amounts import percent, percent_up
    from pacbound.report.evidence import claim_name, evidence, percent_down, progress

    table = Table(caption=f"Per cent. An alarm rings at {1 / result.claims[0].share:,.0f}.")
    table.add_column("claim", overflow="fold")
    for column in ("bound", "outcomes", "observed", "at least", "evidence"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("to alarm", no_wrap=True)
    for each in result.claims[:MOST]:
        full = round(BAR * progress(each))
        refuted = each.refuted_at is not None
        table.add_row(
            escape(claim_name(each)),
            percent_up(each.claim.bound),
            str(each.outcomes),
            percent(each.mean) if each.outcomes else "–",
            percent_down(each.lower_limit) if each.outcomes else "–",
            evidence(each.log_evidence),
            "█" * full + "░" * (BAR - full),
            style="red" if refuted else "",
        )
    if len(result.claims) > MOST:
        table.add_row(f"and {len(result.claims) - MOST} more (--json lists them)")
    return table
