"""Errors as one line and exit code 2, Ctrl-C as 130; the traceback only with --debug."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from pacbound.errors import PacboundError
from pacbound.printable import printable

__all__ = ["OneLineErrors"]


class _Refused(click.ClickException):
    exit_code = 2


class OneLineErrors(click.Group):
    """A command group that reports bad input and Ctrl-C in one line, with exit code 2 or 130."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (PacboundError, OSError) as error:
            if ctx.params.get("debug"):
                raise
            raise _Refused(printable(" ".join(str(error).split()))) from error
        except KeyboardInterrupt:
            # Commands that print their own message when stopped have already exited.
            with suppress(KeyboardInterrupt):
                click.echo("stopped", err=True)
            raise click.exceptions.Exit(130) from None
