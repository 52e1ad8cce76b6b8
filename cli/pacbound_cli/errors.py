"""Errors as one line and exit code 2, Ctrl-C as 130; the traceback only with --debug."""

from __future__ import annotations

import json
import os
import select
import sys
from contextlib import suppress
from typing import Any

import click

from pacbound.errors import PacboundError, called_by_command
from pacbound.printable import printable, printable_json

__all__ = ["OneLineErrors", "tell"]

READER_GONE = 141  # as a shell reports a program that SIGPIPE ended


class _Refused(click.ClickException):
    exit_code = 2


class OneLineErrors(click.Group):
    """A command group that reports bad input and Ctrl-C in one line, with exit code 2 or 130.

    With --json the error is also an object on the standard output.
    """

    def invoke(self, ctx: click.Context) -> Any:
        as_json = "--json" in [*ctx._protected_args, *ctx.args]
        try:
            with called_by_command():
                return super().invoke(ctx)
        except click.ClickException as error:
            tell(error.format_message(), "UsageError", error.exit_code, as_json)
            raise
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):  # Rich ends so, with exit code 1
                raise click.exceptions.Exit(READER_GONE) from None
            raise
        except (PacboundError, OSError) as error:
            if isinstance(error, BrokenPipeError) and _drop_output():
                raise click.exceptions.Exit(READER_GONE) from None
            if ctx.params.get("debug"):
                raise
            message = printable(" ".join(str(error).split()))
            tell(message, type(error).__name__, _Refused.exit_code, as_json)
            raise _Refused(message) from error
        except KeyboardInterrupt:
            # Commands that print their own message when stopped have already exited.
            with suppress(KeyboardInterrupt):
                click.echo("stopped; the same command starts again", err=True)
            raise click.exceptions.Exit(130) from None


def tell(message: str, kind: str, exit_code: int, as_json: bool) -> None:
    """Print an error for programs, if they are to read it."""
    if as_json:
        found = {"error": message, "kind": kind, "exit_code": exit_code}
        click.echo(printable_json(json.dumps(found, ensure_ascii=False)))


def _drop_output() -> bool:
    """Send what nobody reads any more to nowhere. False if every pipe is still read.

    Without this, Python would complain about the rest of its buffers when it ends.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    waiting = select.poll()
    for stream in (sys.__stdout__, sys.__stderr__):
        with suppress(OSError, ValueError, AttributeError):  # closed, or not a file
            waiting.register(stream.fileno(), 0)  # type: ignore[union-attr]
    gone = [place for place, event in waiting.poll(0) if event & select.POLLERR]
    for place in gone:
        os.dup2(nowhere, place)
    os.close(nowhere)
    return bool(gone)
