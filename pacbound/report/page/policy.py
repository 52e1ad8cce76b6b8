"""The permissions of the pages: only their own inline scripts and styles."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib import resources

from markupsafe import Markup

__all__ = ["content_policy", "read_part"]


def read_part(name: str) -> Markup:
    """A style or a script of this package, to be inlined into a page unchanged."""
    return Markup(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


def content_policy(style: str, scripts: Iterable[str]) -> str:
    """A Content-Security-Policy that allows these by their digests, and no requests."""
    parts = [
        "default-src 'none'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        f"style-src {_source(style)}",
        f"script-src {' '.join(map(_source, scripts))}",
    ]
    return "; ".join(parts)


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
