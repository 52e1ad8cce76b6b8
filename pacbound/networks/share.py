"""Which rows of a batch are here, where several processes have a part of it each."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Share"]


@dataclass(frozen=True)
class Share:
    """Rows `first` … `first + rows − 1` of a batch."""

    first: int
    rows: int
    batch: int

    @classmethod
    def whole(cls, batch: int) -> Share:
        """All of it."""
        return cls(0, batch, batch)

    @property
    def place(self) -> slice:
        """Where the rows are in the batch."""
        return slice(self.first, self.first + self.rows)

    def sizes(self, parts: int) -> list[int]:
        """How many of the rows are in each part of the batch, which is cut as by `Tensor.chunk`.

        Example:
            >>> Share.whole(10).sizes(4)
            [3, 3, 3, 1]
            >>> Share(5, 5, 10).sizes(4)
            [0, 1, 3, 1]
        """
        size = math.ceil(self.batch / parts)
        edges = range(0, self.batch, size)
        last = self.first + self.rows
        return [max(0, min(edge + size, last) - max(edge, self.first)) for edge in edges]
