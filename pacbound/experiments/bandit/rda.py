"""Read the data frame in an R file: numbers and factors, and nothing executable.

The package rdata reads all of R's format, but would need pandas and xarray for this one table.
"""

from __future__ import annotations

import lzma
import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacbound.data.sources import SourceFailed
from pacbound.data.sources.archives import LARGEST_FILE

__all__ = ["Column", "Factor", "decode_data_frame"]

_MAGIC = b"RDX2\nX\n"  # a saved workspace, version 2, big-endian
_VERSIONS = 12  # bytes: the format's version, the writer's R, the oldest R that can read it

# R's type codes, and the flag bits above them.
_SYMBOL, _PAIRS, _CHARACTERS, _INTEGERS, _REALS, _STRINGS, _LIST = 1, 2, 9, 13, 14, 16, 19
_NOTHING, _SEEN_SYMBOL = 254, 255
_HAS_ATTRIBUTES, _HAS_TAG = 0x200, 0x400
_DEEPEST = 20  # a data frame has a handful of levels
_MOST_ITEMS = 1_000_000  # texts and lists


@dataclass(frozen=True, eq=False)
class Factor:
    """A categorical column: codes from 1, and their names."""

    codes: NDArray[np.int64]
    levels: tuple[str, ...]


Column: TypeAlias = NDArray[np.float64] | Factor


def decode_data_frame(content: bytes, where: str) -> list[Column]:
    """The columns of the first data frame in an xz-compressed `.rda` file."""
    try:
        with lzma.open(BytesIO(content)) as stream:
            plain = stream.read(LARGEST_FILE + 1)
        if len(plain) > LARGEST_FILE or not plain.startswith(_MAGIC):
            raise SourceFailed(f"{where} is not a workspace of R")
        frames = _Reader(plain, len(_MAGIC) + _VERSIONS).item()
        return [_column(column) for column in next(iter(frames.values())).content]
    except (
        *(lzma.LZMAError, EOFError, MemoryError, struct.error, StopIteration),
        *(AttributeError, IndexError, KeyError, TypeError, ValueError),
    ) as error:
        raise SourceFailed(f"{where} is not a data frame of R: {error}") from error


def _column(item: _Item) -> Column:
    if "levels" in item.attributes:
        if item.content.dtype.kind != "i":
            raise ValueError("the codes of a factor are not integers")
        return Factor(item.content.astype(np.int64), tuple(item.attributes["levels"].content))
    return np.asarray(item.content, np.float64)


@dataclass(frozen=True, eq=False)
class _Item:
    """An array or a list, and its R attributes."""

    content: Any
    attributes: dict[str, Any]


class _Reader:
    """Reads R's serialisation, and stops at anything that is not plain data."""

    def __init__(self, plain: bytes, start: int) -> None:
        self._plain, self._at = plain, start
        self._symbols: list[str] = []
        self._items = 0

    def item(self, depth: int = 0) -> Any:
        """The next item: text, a dictionary of pairs, or an `_Item`."""
        self._items += 1
        if depth > _DEEPEST or self._items > _MOST_ITEMS:
            raise ValueError("it is nested too deeply, or has too many parts")
        flags = self._integer()
        kind = flags & 0xFF
        if kind == _PAIRS:
            return self._pairs(flags, depth)
        if kind == _NOTHING:
            return {}
        if kind == _SYMBOL:
            self._symbols.append(self.item(depth + 1))
            return self._symbols[-1]
        if kind == _SEEN_SYMBOL:
            return self._symbols[(flags >> 8) - 1]
        if kind == _CHARACTERS:
            return self._bytes(self._integer()).decode("utf-8")
        content: Any
        count = self._integer()
        if kind == _INTEGERS:
            content = np.frombuffer(self._bytes(4 * count), ">i4")
        elif kind == _REALS:
            content = np.frombuffer(self._bytes(8 * count), ">f8")
        elif kind in (_STRINGS, _LIST):
            content = [self.item(depth + 1) for _ in range(count)]
        else:
            raise ValueError(f"it holds something of kind {kind}")
        attributes = self.item(depth + 1) if flags & _HAS_ATTRIBUTES else {}
        return _Item(content, attributes)

    def _pairs(self, flags: int, depth: int) -> dict[str, Any]:
        pairs = {}
        while flags & 0xFF == _PAIRS:
            if flags & _HAS_ATTRIBUTES or not flags & _HAS_TAG:
                raise ValueError("a pair has no name, or has attributes")
            name = self.item(depth + 1)
            pairs[name] = self.item(depth + 1)
            flags = self._integer()
        if flags & 0xFF != _NOTHING:
            raise ValueError("a list of pairs does not end")
        return pairs

    def _integer(self) -> int:
        return int.from_bytes(self._bytes(4), "big", signed=True)

    def _bytes(self, count: int) -> bytes:
        if not 0 <= count <= len(self._plain) - self._at:
            raise ValueError("it ends too early")
        self._at += count
        return self._plain[self._at - count : self._at]
