"""The examples in a command's help as a block of shell, in what sphinx-click makes of it."""

from __future__ import annotations

import re
from typing import Any

import click
from sphinx.application import Sphinx

__all__ = ["setup"]

HEADING = re.compile(r"\| (Example.*|A first certificate):$")


def _as_shell(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """Replace line blocks that begin with "Examples:"; their commands are indented by two."""
    pages: list[str] = []
    inside = False
    for line in lines:
        if found := HEADING.match(line):
            pages += [f"{found[1]}:", "", ".. code-block:: sh", ""]
            inside = True
        elif inside and line.startswith("| "):
            pages.append(f"   {line[2:].strip()}")
        else:
            pages.append(line)
            inside = False
    lines[:] = pages


def setup(app: Sphinx) -> dict[str, Any]:
    """Follow sphinx-click, which writes the help's preformatted parts as line blocks."""
    app.connect("sphinx-click-process-description", _as_shell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
