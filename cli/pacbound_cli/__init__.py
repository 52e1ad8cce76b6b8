"""The command line: each command parses its options, calls the engine and prints."""

from __future__ import annotations

import io
import signal
import sys

import click

from pacbound import __version__
from pacbound_cli.bandit import bandit
from pacbound_cli.certify import certify
from pacbound_cli.certify_fixed import certify_fixed
from pacbound_cli.data import data
from pacbound_cli.errors import OneLineErrors
from pacbound_cli.explain import explain
from pacbound_cli.features import features
from pacbound_cli.monitor import monitor
from pacbound_cli.off_policy import off_policy
from pacbound_cli.plot import plot
from pacbound_cli.policy import policy
from pacbound_cli.predict import predict
from pacbound_cli.recipes import recipes
from pacbound_cli.report import report
from pacbound_cli.rotate import rotate
from pacbound_cli.simulate import simulate
from pacbound_cli.table import table
from pacbound_cli.train import train
from pacbound_cli.verify import verify
from pacbound_cli.vi import vi

__all__ = ["cli", "main"]

# Command modules import torch, numpy and rich inside their functions, so that
# `--help` and `verify` start at once.


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, prog_name="pacbound")
def cli(debug: bool) -> None:
    """Train stochastic neural networks and certify their risk.

    \b
    A first certificate:
      pacbound train mlp-30 -o mlp.pt
      pacbound certify mlp.pt --delta 0.035
      pacbound verify certificates/*.json
    """


for command in (
    train,
    certify,
    certify_fixed,
    verify,
    policy,
    monitor,
    off_policy,
    explain,
    plot,
    vi,
    predict,
    rotate,
    bandit,
    simulate,
    report,
    table,
    recipes,
    data,
    features,
):
    cli.add_command(command)


def main() -> None:
    """The entry point of the `pacbound` command."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # for terminals and pipes that lack δ and ≤
    try:
        cli()
    finally:
        # Only the interpreter's shutdown is left. A second Ctrl-C would fill it with tracebacks.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
