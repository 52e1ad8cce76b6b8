"""Where data sets come from: one file per kind of source.

A source is only a courier. Whatever it brings counts only if the catalogue's hash matches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

__all__ = ["Progress", "Source", "SourceFailed"]

Progress = Callable[[str, int, int | None], None]
"""Called with (description, bytes done, bytes in all or None when unknown)."""


class SourceFailed(Exception):
    """This source has no answer; the next one may. The message says why, in a few words."""


class Source(Protocol):
    """Anything that may have the canonical files."""

    @property
    def label(self) -> str:
        """How the source is called in messages."""
        ...

    def read(self, wanted: Sequence[str], progress: Progress) -> Mapping[str, bytes]:
        """The decoded content of the wanted files, perhaps more, or `SourceFailed`."""
        ...
