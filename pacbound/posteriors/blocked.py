"""A tensor cut into blocks, with an independent posterior for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from pacbound.flows.lipschitz import Norm, T
from pacbound.posteriors.base import Piece, Posterior
from pacbound.posteriors.cut import Cut

__all__ = ["Blocked"]


class Blocked(Posterior):
    """Independent posteriors of the blocks of one tensor.

    Arguments:
        cut: Where the tensor is cut.
        blocks: A posterior for every block, row by row.
    """

    def __init__(self, cut: Cut, blocks: Sequence[Posterior]) -> None:
        nn.Module.__init__(self)
        self.cut: Cut = cut
        self.blocks = nn.ModuleList(blocks)
        self._shape = self.mean.shape

    @property
    def shape(self) -> torch.Size:
        return self._shape

    def parts(self) -> Iterator[Posterior]:
        """The posteriors of the blocks, row by row."""
        for block in self.blocks:
            assert isinstance(block, Posterior)
            yield block

    def pieces(self) -> list[Piece]:
        return [*self.parts()]

    def sample_pieces(self, standard_normals: Sequence[Tensor]) -> list[Tensor]:
        pairs = zip(self.parts(), standard_normals, strict=True)
        return [q.sample(noise) for q, noise in pairs]

    def grid(self) -> list[list[Posterior]]:
        """The posteriors by row and column."""
        parts, width = list(self.parts()), max(1, len(self.cut.columns))
        return [parts[first : first + width] for first in range(0, len(parts), width)]

    @property
    def mean(self) -> Tensor:  # type: ignore[override]
        """The mean of the whole tensor."""
        return self.cut.join([[q.mean for q in row] for row in self.grid()])

    @property
    def dimensions(self) -> int:
        return sum(q.dimensions for q in self.parts())

    @property
    def is_gaussian(self) -> bool:
        return all(q.is_gaussian for q in self.parts())

    def activate(self, nonlinear: bool) -> None:
        for q in self.parts():
            q.activate(nonlinear)

    def noise(self, standard_normal: Tensor) -> Tensor:
        first = standard_normal.dim() - len(self.shape)
        noises = self.cut.split(standard_normal, first)
        grid = [
            [q.noise(noise) for q, noise in zip(row, of, strict=True)]
            for row, of in zip(self.grid(), noises, strict=True)
        ]
        return self.cut.join(grid, first)

    def log_det(self) -> Tensor:
        return torch.stack([q.log_det() for q in self.parts()]).sum()

    def trace(self) -> Tensor:
        return torch.stack([q.trace() for q in self.parts()]).sum()

    def second_moment(self, center: Tensor) -> Tensor:
        pairs = zip(self.parts(), self.cut.parts(center), strict=True)
        moments = [q.second_moment(part) for q, part in pairs]
        return torch.stack(moments).sum()

    def lipschitz(self, norm: Norm[T]) -> T:
        return max(q.lipschitz(norm) for q in self.parts())

    def scales(self) -> list[Tensor]:
        return [scale for q in self.parts() for scale in q.scales()]

    def flaw(self) -> str | None:
        return next((flaw for q in self.parts() if (flaw := q.flaw())), None)

    @property
    def local_width(self) -> int:
        return sum(self.cut.rows) * max(1, len(self.cut.columns))

    def local_deviation(self, inputs: Tensor) -> Tensor:
        parts = self.cut.split_columns(inputs, 1)
        found = [
            q.local_deviation(part).expand(-1, q.shape[0])
            for row in self.grid()
            for q, part in zip(row, parts, strict=True)
        ]
        return torch.cat(found, 1)  # (batch, local_width)

    def mix_local(self, independent: Tensor) -> Tensor:
        sizes = [q.shape[0] for q in self.parts()]
        pieces = iter(torch.split(independent, sizes, 1))
        rows = [[q.mix_local(next(pieces)) for q in row] for row in self.grid()]
        return torch.cat([torch.stack(row).sum(0) if len(row) > 1 else row[0] for row in rows], 1)
