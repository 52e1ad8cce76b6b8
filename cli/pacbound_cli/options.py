"""Options that several commands share."""

from __future__ import annotations

import click

__all__ = ["json_option", "threads_option"]

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="Threads to compute with [all cores]."
)
