"""Errors as one line and exit code 2; the traceback only with --debug."""

from __future__ import annotations

from typing import Any

import click

from pacbound.errors import BadInput

__all__ = ["OneLineErrors"]


class _Refused(click.ClickException):
    exit_code = 2


class OneLineErrors(click.Group):
    """A command group in which bad input ends with one line and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (BadInput, OSError) as error:
            if ctx.params.get("debug"):
                raise
            raise _Refused(" ".join(str(error).split())) from error
