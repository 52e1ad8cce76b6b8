"""Mathematics as MathML, which browsers draw by themselves: no script, and no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

__all__ = ["setup"]


def _inline(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _display(translator: HTML5Translator, node: nodes.Element) -> None:
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer as `html_math_renderer = "mathml"`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
