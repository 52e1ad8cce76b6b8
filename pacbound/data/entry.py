"""What the catalogue knows about a data set before it has a byte of it."""

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
    """A file of the data set as its authors published it, decompressed."""

    name: str
    size: int
    sha256: str

    def matches(self, content: bytes) -> bool:
        """Whether these bytes are the published file."""
        return len(content) == self.size and hashlib.sha256(content).hexdigest() == self.sha256


class Published(Protocol):
    """Published files under a name: what fetching and the cache need to know of them."""

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
        """Where to look for the files, in this order."""
        ...


@dataclass(frozen=True)
class Entry:
    """A named data set: its files, where to look for them, and how they become examples."""

    name: str
    title: str
    m: int
    test_m: int
    classes: int
    files: tuple[CanonicalFile, ...]
    sources: tuple[Source, ...]  # asked in this order
    assemble: Callable[[Mapping[str, bytes]], Dataset]
    cut_from: str | None = None  # the data set with the same files, which the cache keeps once

    @property
    def folder(self) -> str:
        """The folder of its files in the cache."""
        return self.cut_from or self.name

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.files)
