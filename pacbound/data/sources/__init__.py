"""The sources of data sets: one file per kind of source.

A source is not trusted. Its files count only if the catalogue's hash matches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

__all__ = ["Progress", "Source", "SourceFailed"]

Progress = Callable[[str, int, int | None], None]
"""Called with (description, bytes done, total bytes or None if unknown)."""


class SourceFailed(Exception):
    """This source failed; the next one may work. The message says why in a few words."""


class Source(Protocol):
    """A source that may have the canonical files."""

    @property
    def label(self) -> str:
        """The name of the source in messages."""
        ...

    def read(self, wanted: Sequence[str], progress: Progress) -> Mapping[str, bytes]:
        """The decoded content of the wanted files, or more; raises `SourceFailed`."""
        ...
