"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

__all__ = [
    "claim_options",
    "device_option",
    "dtype_option",
    "json_option",
    "ledger_options",
    "scheduler_option",
    "threads_option",
    "workers_option",
]

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="The number of CPU threads [all cores]."
)
device_option = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda", "mps"]),
    default="cpu",
    show_default=True,
    help="The device to compute on.",
)
dtype_option = click.option(
    "--dtype",
    type=click.Choice(["float32", "float64", "bfloat16"]),
    help="The number type [the recipe's, usually float32]. bfloat16 applies to matrix products and "
    "convolutions only. It is about twice as fast on processors that support it.",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Worker processes on this machine [one per core].",
)
scheduler_option = click.option(
    "--scheduler",
    default="",
    metavar="ADDRESS",
    help="Run on the Dask cluster of this scheduler, such as tcp://host:8786.",
)


def _stack(options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


claim_options = _stack(
    [
        click.option(
            "--claims",
            help="The claims, separated by commas: overall, answered (with --answer-above), "
            "per-class (the error given the true class), predicted-class (for one network or a "
            "fixed predictor).  [default: overall, or answered]",
        ),
        click.option(
            "--groups",
            metavar="COLUMN|FILE.csv:COLUMN|FILE.npz:ARRAY|FILE.npy",
            default="",
            help="Claim the error in each group of examples: a column of the data's CSV file, a "
            "column of another one with a row for every example, or an array.",
        ),
        click.option(
            "--cost",
            type=click.Path(path_type=Path),
            help="Claim the mean cost, given a CSV matrix with entries in [0, 1] and a row per "
            "true class.",
        ),
    ]
)
ledger_options = _stack(
    [
        click.option(
            "--candidates",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="The number of priors, networks or predictors listed before the first look at "
            "these examples.",
        ),
        click.option(
            "--looks",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Results on these examples that led to a change of the prior or the predictor. "
            "Each costs ln 2.",
        ),
        click.option(
            "--certificates",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="The number of certificates to choose from, declared before the first one was "
            "made. If they are of different predictors, gibbs and vote also need this number of "
            "--candidates.",
        ),
        click.option(
            "--place",
            type=click.IntRange(min=1),
            help="The position of this certificate in order of making, if no number was declared.",
        ),
        click.option(
            "--copies",
            type=click.Choice(["counted", "independent"]),
            default="counted",
            show_default=True,
            help="independent: declare that equal examples are independent draws.",
        ),
    ]
)
