"""The description of a data set in the catalogue."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pacbound.data.dataset import Dataset
from pacbound.data.sources import Source

__all__ = ["CanonicalFile", "Entry", "Published"]


@dataclass(frozen=True)
class CanonicalFile:
    """A file of the data set, as its authors published it, decompressed."""

    name: str
    size: int
    sha256: str

    def matches(self, content: bytes) -> bool:
        """Whether these bytes are the published file."""
        return len(content) == self.size and hashlib.sha256(content).hexdigest() == self.sha256


class Published(Protocol):
    """Published files under a name, as fetching and the cache see them."""

    @property
    def name(self) -> str: ...

    @property
    def folder(self) -> str:
        """The folder of the files in the cache."""
        ...

    @property
    def files(self) -> tuple[CanonicalFile, ...]: ...

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the files, in order."""
        ...


@dataclass(frozen=True)
class Entry:
    """A named data set: its files, their sources, and how to convert them to examples."""

    name: str
    title: str
    m: int
    test_m: int
    classes: int
    files: tuple[CanonicalFile, ...]
    sources: tuple[Source, ...]  # tried in this order
    assemble: Callable[[Mapping[str, bytes]], Dataset]
    cut_from: str | None = None  # the data set with the same files; the cache keeps them once

    @property
    def folder(self) -> str:
        """The folder of its files in the cache."""
        return self.cut_from or self.name

    @property
    def size(self) -> int:
        """The size of all its files in bytes."""
        return sum(file.size for file in self.files)
