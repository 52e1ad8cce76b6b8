"""Options that several commands share."""

from __future__ import annotations

import click

__all__ = [
    "device_option",
    "dtype_option",
    "json_option",
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
