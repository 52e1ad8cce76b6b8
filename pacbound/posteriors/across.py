"""One posterior of a tensor whose blocks have prior variances of their own.

Its maps run across the blocks, so that weights of different blocks are correlated. The KL to a
prior N(Θ0, λ_b I) for every block b still splits by block:

    KL = Σ_b ½[T_b/λ_b − d_b + d_b log λ_b] − log|det|,    T_b = E‖W_b − Θ0_b‖²,

because the prior's log-density does, and log|det| is a sum over entries. Each block has its own
d_b, T_b and share of log|det|, like independent posteriors of blocks. For a triangular map, the
share of a block in the KL is the sum over its entries of their expected KL given the earlier
entries, so it is not negative.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from pacbound.flows.lipschitz import Norm, T, composition
from pacbound.posteriors.base import Piece, Posterior, largest, squared_norm
from pacbound.posteriors.cut import Cut, Entries

__all__ = ["Across", "Block", "Divisible", "Units"]


@dataclass(frozen=True)
class Units:
    """Initial scales of blocks as products: one unit for their row, one for their column, a rest.

    The rest is 1 if the scales are such products, and small in any case: the logarithms of the
    units are fitted by least squares.
    """

    rows: tuple[float, ...]
    columns: tuple[float, ...]
    rest: tuple[float, ...]  # row by row

    @classmethod
    def of(cls, cut: Cut, scales: Sequence[float]) -> Self:
        """The units of the initial scales of all blocks, row by row."""
        logs = torch.tensor(scales, dtype=torch.float64).log().view(len(cut.rows), -1)
        rows, columns = logs.mean(1), logs.mean(0) - logs.mean()
        rest = (logs - rows[:, None] - columns).flatten()
        parts = ([math.exp(value) for value in each] for each in (rows, columns, rest))
        return cls(*(tuple(part) for part in parts))


class Divisible(Posterior):
    """A posterior whose log|det| and second moment can be divided among the blocks of a cut."""

    @abstractmethod
    def part_log_det(self, at: Entries) -> Tensor:
        """The block's share of log|det|: of the logarithms of the scales of its entries."""

    @abstractmethod
    def part_trace(self, at: Entries) -> Tensor:
        """E‖W_b − M_b‖² of a block, if the law is Gaussian."""

    @abstractmethod
    def part_scales(self, at: Entries) -> list[Tensor]:
        """The scales whose logarithms are summed for the block's share of log|det|."""

    def part_second_moment(self, at: Entries, center: Tensor, unit: Tensor) -> Tensor:
        """E‖W_b − Θ0_b‖² with noise in this unit.

        Exact, or estimated from the last draw if the law is not Gaussian.
        """
        return unit.square() * self.part_trace(at) + squared_norm(at.of(self.mean) - center)


class Across(Posterior):
    """W = M + diag(r) N diag(c): N is the noise of one posterior over all blocks of a tensor.

    r and c are constants: the units of the blocks of rows and of columns. For K-Linear they add
    nothing to the family, because diag(r) A = A' diag(r) for another unit triangle A'. They give
    every block a Lipschitz constant in proportion to its own scale, and the flows of K-Nonlinear
    see all blocks in units of their initial scale.

    A map is shared by all blocks along its mode. If some of them are to stay at their prior, it
    must stay the identity there, also where another block would gain from it.

    Arguments:
        cut: Where the tensor is cut.
        whole: The posterior of the whole tensor, in those units.
        units: The units.
    """

    rows: Tensor
    columns: Tensor

    def __init__(self, cut: Cut, whole: Divisible, units: Units) -> None:
        nn.Module.__init__(self)
        self.cut: Cut = cut
        self.whole = whole
        like = whole.mean.detach()
        self.register_buffer("rows", like.new_tensor(units.rows))
        self.register_buffer("columns", like.new_tensor(units.columns))
        self._blocks = [Block(self, at) for at in cut.entries]

    def pieces(self) -> list[Piece]:
        return [*self._blocks]

    def sample_pieces(self, standard_normals: Sequence[Tensor]) -> list[Tensor]:
        return self.cut.parts(self.sample(self.cut.whole(standard_normals)))

    @property
    def mean(self) -> Tensor:  # type: ignore[override]
        return self.whole.mean

    @property
    def is_gaussian(self) -> bool:
        return self.whole.is_gaussian

    def activate(self, nonlinear: bool) -> None:
        self.whole.activate(nonlinear)

    def _row_units(self) -> Tensor:
        return self.rows[self.cut.block_of_row()]  # (rows,)

    def _column_units(self) -> Tensor:
        return self.columns[self.cut.block_of_column()]  # (columns,) or (1,)

    def noise(self, standard_normal: Tensor) -> Tensor:
        units = torch.outer(self._row_units(), self._column_units())
        others = [1] * (self.mean.dim() - 2)
        return self.whole.noise(standard_normal) * units.view(*units.shape, *others)

    def log_det(self) -> Tensor:
        return torch.stack([block.log_det() for block in self._blocks]).sum()

    def trace(self) -> Tensor:
        return torch.stack([block.trace() for block in self._blocks]).sum()

    def second_moment(self, center: Tensor) -> Tensor:
        pairs = zip(self._blocks, self.cut.parts(center), strict=True)
        return torch.stack([block.second_moment(part) for block, part in pairs]).sum()

    def lipschitz(self, norm: Norm[T]) -> T:
        constants: list[T] = [self.whole.lipschitz(norm)]
        constants += [largest(each.log(), norm) for each in (self.rows, self.columns)]
        return composition(constants)

    def scales(self) -> list[Tensor]:
        return [self.rows, self.columns, *self.whole.scales()]

    def flaw(self) -> str | None:
        return self.whole.flaw() or super().flaw()

    @property
    def local_width(self) -> int:
        return self.whole.local_width

    def local_deviation(self, inputs: Tensor) -> Tensor:
        return self.whole.local_deviation(inputs * self._column_units())

    def mix_local(self, independent: Tensor) -> Tensor:
        return self.whole.mix_local(independent) * self._row_units()


class Block:
    """A block of a posterior whose maps run across blocks. It is not drawn alone."""

    def __init__(self, posterior: Across, at: Entries) -> None:
        self._posterior = posterior
        self._at = at

    @property
    def _whole(self) -> Divisible:
        return self._posterior.whole

    @property
    def _unit(self) -> Tensor:
        return self._posterior.rows[self._at.row] * self._posterior.columns[self._at.column]

    @property
    def shape(self) -> torch.Size:
        return self.mean.shape

    @property
    def mean(self) -> Tensor:
        return self._at.of(self._whole.mean)

    @property
    def dimensions(self) -> int:
        return self.mean.numel()

    @property
    def normals(self) -> int:
        return self._whole.normals

    @property
    def is_gaussian(self) -> bool:
        return self._whole.is_gaussian

    def log_det(self) -> Tensor:
        return self._whole.part_log_det(self._at) + self.dimensions * self._unit.log()

    def trace(self) -> Tensor:
        return self._unit.square() * self._whole.part_trace(self._at)

    def second_moment(self, center: Tensor) -> Tensor:
        return self._whole.part_second_moment(self._at, center, self._unit)

    def lipschitz(self, norm: Norm[T]) -> T:
        """A Lipschitz constant of E ↦ W_b, where E is the noise of all blocks.

        W_b − M_b = r_b c_b N_b(E). N_b is a selection of the entries of N, so ‖N_b(E) − N_b(E')‖ ≤
        ‖N(E) − N(E')‖ ≤ Lip(N) ‖E − E'‖, and r_b c_b Lip(N) is valid, whatever the prior variances
        are. Only the limit of the block's own second moment uses it, and the samples of all blocks
        may share their noise: the limits of the blocks hold together by a union bound, which needs
        no independence.
        """
        return composition([largest(self._unit.log(), norm), self._whole.lipschitz(norm)])

    def scales(self) -> list[Tensor]:
        return [self._unit, *self._whole.part_scales(self._at)]
