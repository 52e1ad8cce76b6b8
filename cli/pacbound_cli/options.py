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
    "--threads", type=click.IntRange(min=1), help="Threads to compute with [all cores]."
)
device_option = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda", "mps"]),
    default="cpu",
    show_default=True,
    help="Where to compute.",
)
dtype_option = click.option(
    "--dtype",
    type=click.Choice(["float32", "float64", "bfloat16"]),
    help="What to compute with [the recipe's, float32 for most]. bfloat16 is for products of "
    "matrices and convolutions alone, and about twice as fast where the processor has it.",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes on this machine to do it with [one on each core].",
)
scheduler_option = click.option(
    "--scheduler",
    default="",
    metavar="ADDRESS",
    help="Do it on the Dask cluster of this scheduler, such as tcp://host:8786.",
)
