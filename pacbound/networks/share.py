"""The rows of a batch in this process, when several processes share the batch."""

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
        """The whole batch."""
        return cls(0, batch, batch)

    @property
    def place(self) -> slice:
        """The position of the rows in the batch."""
        return slice(self.first, self.first + self.rows)

    def sizes(self, parts: int) -> list[int]:
        """The number of these rows in each part of the batch, split as by `Tensor.chunk`.

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
