"""Figures drawn by matplotlib, an optional package: its absence is reported before any work."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pacbound.errors import FileError, MissingDependency
from pacbound.files import ensure_writable, write_whole
from pacbound.printable import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drawing", "ensure_drawable", "literal", "save_figure"]

FORMATS = ("svg", "png", "pdf")


@contextmanager
def drawing() -> Iterator[None]:
    """The style of all figures; equal inputs give equal files."""
    from matplotlib import rc_context

    with rc_context(
        {
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "pacbound",
        }
    ):
        yield


def literal(text: str) -> str:
    """A text from a file, or a file name, for a figure: no part of it is read as a formula."""
    return printable(text).replace("$", r"\$")


def ensure_drawable(path: Path) -> None:
    """Refuse a figure that cannot be drawn or written."""
    if path.suffix.removeprefix(".").lower() not in FORMATS:
        raise FileError(f"cannot draw {path}: a figure must end in .svg, .png or .pdf")
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependency(
            "figures need matplotlib; install it with: pip install 'pacbound[plots]'"
        )
    ensure_writable(path)


def save_figure(figure: Figure, path: Path) -> None:
    """Write the figure atomically, in the format of the file name, without a date."""
    kind = path.suffix.removeprefix(".").lower()
    date = {"png": None, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with drawing():
        write_whole(
            path,
            lambda stream: figure.savefig(
                stream, format=kind, metadata=date, bbox_inches="tight", dpi=150
            ),
        )
