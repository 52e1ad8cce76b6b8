"""How Sphinx makes the documentation: `make docs`, offline, with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "_ext"), str(DOCS.parent), str(DOCS.parent / "cli")]

from pacbound import __version__  # noqa: E402 - found by the path above

project = "pacbound"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "command_examples",
    "docstring_text",
    "mathml",
    "repository_links",
]

# Pages are Markdown that GitHub shows too: dollars for mathematics, anchors of headings.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
smartquotes = False  # it would make a dash of the -- of an option

# Docstrings write code in single backticks, and their "Arguments:" are napoleon's.
default_role = "code"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "undoc-members": True}
python_maximum_signature_line_length = 88

# A reference into pacbound must resolve. Types of Python, torch and numpy are named without a
# link: their inventories are on the network, and the pages are built without it.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!pacbound\.).*"),
    ("py:.*", r"pacbound\.(flows\.lipschitz|training\.ranks)\.T"),
    # The fields of certificates are on the page of the format, and not described twice.
    ("py:.*", r"pacbound\.certificate\.(format|kinds)\..*"),
]

html_theme = "furo"
html_title = f"pacbound {version}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
