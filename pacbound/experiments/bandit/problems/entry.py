"""The description of a problem's files."""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.data.entry import CanonicalFile
from pacbound.data.sources import Source

__all__ = ["RawEntry"]


@dataclass(frozen=True)
class RawEntry:
    """Named files of a bandit problem, which are not labelled examples."""

    name: str
    title: str
    rows: int
    files: tuple[CanonicalFile, ...]
    sources: tuple[Source, ...]  # tried in this order

    @property
    def folder(self) -> str:
        """The folder of its files in the cache."""
        return self.name

    @property
    def size(self) -> int:
        """The size of all its files in bytes."""
        return sum(file.size for file in self.files)
