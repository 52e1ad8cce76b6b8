"""Links from a page to files of the checkout that are no pages: the reader gets the file.

On GitHub `../README.md` and `../tests/…` are links like any other. MyST takes a Markdown file for
a page, also where it is outside of the documentation; here it becomes a file to download.
"""

from __future__ import annotations

import os
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

__all__ = ["setup"]


def _as_downloads(app: Sphinx, page: nodes.document) -> None:
    for link in list(page.findall(addnodes.pending_xref)):
        target = str(link.get("reftarget", ""))  # a path without suffix, whole where it is outside
        if link.get("refdomain") != "doc" or not os.path.isabs(target):
            continue
        path = os.path.relpath(f"{target}.md", os.path.dirname(app.env.doc2path(app.env.docname)))
        file = addnodes.download_reference("", "", reftarget=path, refdoc=app.env.docname)
        file += link.children
        link.replace_self(file)


def setup(app: Sphinx) -> dict[str, Any]:
    """Before Sphinx collects the files to copy, which it does at the priority of 500."""
    app.connect("doctree-read", _as_downloads, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
