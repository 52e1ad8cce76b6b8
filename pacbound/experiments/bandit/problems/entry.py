"""What is known of a problem's files before a byte of them is there."""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.data.entry import CanonicalFile
from pacbound.data.sources import Source

__all__ = ["RawEntry"]


@dataclass(frozen=True)
class RawEntry:
    """Named files that are no labelled examples: what a bandit problem is made from."""

    name: str
    title: str
    rows: int
    files: tuple[CanonicalFile, ...]
    sources: tuple[Source, ...]  # asked in this order

    @property
    def folder(self) -> str:
        """The folder of its files in the cache."""
        return self.name

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.files)
