"""What docstrings look like on a page: a bar is a bar, as in ln|det|, and a dash is a dash."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

__all__ = ["setup"]


def _escape_bars(
    app: Sphinx, what: str, name: str, item: object, options: object, lines: list[str]
) -> None:
    lines[:] = [line.replace("|", r"\|") for line in lines]


def _dashes(app: Sphinx, page: nodes.document) -> None:
    """Sphinx writes " -- " behind a parameter, for `smartquotes` to make a dash of."""
    for field in page.findall(nodes.field_body):
        for text in list(field.findall(nodes.Text)):
            if text == " -- ":
                text.parent.replace(text, nodes.Text(" – "))


def setup(app: Sphinx) -> dict[str, Any]:
    """No docstring uses substitutions, which bars would stand for."""
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("doctree-read", _dashes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
