"""Where a tensor is cut into blocks, each with a prior variance of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Cut", "Entries"]

Grid = list[list[Tensor]]  # blocks by row and column


@dataclass(frozen=True)
class Cut:
    """Where a tensor is cut: along its first mode, and along its second.

    Arguments:
        rows: The sizes of the blocks along the first mode.
        columns: Those along the second mode; empty for a tensor of one mode.
        extra: Whether there is one more column at the end, a bias. It belongs to the first blocks.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...] = ()
    extra: bool = False

    @property
    def places(self) -> list[tuple[int, int]]:
        """The blocks, row by row."""
        return [(i, j) for i in range(len(self.rows)) for j in range(max(1, len(self.columns)))]

    @property
    def entries(self) -> list[Entries]:
        """The entries of every block, row by row."""
        return [Entries(self, i, j) for i, j in self.places]

    def parts(self, tensor: Tensor) -> list[Tensor]:
        """The blocks of a tensor, row by row."""
        return [part for row in self.split(tensor) for part in row]

    def whole(self, parts: Sequence[Tensor]) -> Tensor:
        """The inverse of `parts`."""
        width = max(1, len(self.columns))
        return self.join([[*parts[i : i + width]] for i in range(0, len(parts), width)])

    def block_of_row(self) -> Tensor:
        """The number of the block of every row."""
        return torch.arange(len(self.rows)).repeat_interleave(torch.tensor(self.rows))

    def block_of_column(self) -> Tensor:
        """The number of the block of every column; one number if columns are not cut."""
        if not self.columns:
            return torch.zeros(1, dtype=torch.long)
        sizes = torch.tensor([*self.columns, 1] if self.extra else self.columns)
        blocks = torch.arange(len(sizes)).repeat_interleave(sizes)
        return blocks % len(self.columns)  # the extra column belongs to the first block

    def split(self, tensor: Tensor, first: int = 0) -> Grid:
        """The blocks of a tensor whose first mode is this dimension."""
        return [
            self.split_columns(row, first + 1)
            for row in torch.split(tensor, list(self.rows), first)
        ]

    def split_columns(self, tensor: Tensor, mode: int) -> list[Tensor]:
        """The parts of a tensor along the dimension of the columns."""
        if not self.columns:
            return [tensor]
        if not self.extra:
            return list(torch.split(tensor, list(self.columns), mode))
        *parts, bias = torch.split(tensor, [*self.columns, 1], mode)
        return [torch.cat([parts[0], bias], mode), *parts[1:]]

    def join(self, grid: Grid, first: int = 0) -> Tensor:
        """The inverse of `split`."""
        return torch.cat([self._joined_columns(row, first + 1) for row in grid], first)

    def _joined_columns(self, row: list[Tensor], mode: int) -> Tensor:
        if not self.extra or not self.columns:
            return row[0] if len(row) == 1 else torch.cat(row, mode)
        start, bias = torch.split(row[0], [self.columns[0], 1], mode)
        return torch.cat([start, *row[1:], bias], mode)


@dataclass(frozen=True)
class Entries:
    """The entries of one block within the whole tensor.

    Arguments:
        cut: Where the tensor is cut.
        row: The number of the block along the first mode, from 0.
        column: The number along the second mode.
    """

    cut: Cut
    row: int
    column: int

    @property
    def reach(self) -> int:
        """The rows of the tensor up to the last row of the block."""
        return sum(self.cut.rows[: self.row + 1])

    def of(self, tensor: Tensor) -> Tensor:
        """The block of a tensor."""
        rows = torch.split(tensor, list(self.cut.rows))[self.row]
        return self.cut.split_columns(rows, 1)[self.column]

    def fill(self, tensor: Tensor, value: float) -> None:
        """Set the block of a tensor to one value."""
        rows = torch.split(tensor, list(self.cut.rows))[self.row]
        columns = self.along(1, torch.arange(tensor.shape[1], device=tensor.device))
        rows[:, columns] = value

    def along(self, mode: int, factor: Tensor) -> Tensor:
        """The rows of a factor of one mode that belong to the block: all, beyond two modes."""
        if mode > 1:
            return factor
        if mode == 1:
            return self.cut.split_columns(factor, 0)[self.column]
        return torch.split(factor, list(self.cut.rows))[self.row]
