"""K-Diag: one scale vector per mode, W = M + diag(u) E diag(v)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pacbound.flows.lipschitz import Norm, T, composition
from pacbound.posteriors.across import Across, Divisible, Units
from pacbound.posteriors.base import Posterior, largest
from pacbound.posteriors.cut import Cut, Entries
from pacbound.posteriors.spread import local_deviation

__all__ = ["KDiag", "KDiagOfBlocks"]


class KDiag(Posterior):
    """W = M + diag(u) E diag(v): a Kronecker product of diagonal covariances.

    Tensors of any order have one scale vector per mode.
    """

    def __init__(self, center: Tensor, scale: float) -> None:
        super().__init__(center)
        share = math.log(scale) / max(center.dim(), 1)
        self.log_scales = nn.ParameterList(
            nn.Parameter(center.new_full((size,), share)) for size in center.shape
        )

    @classmethod
    def least_numbers(cls, shape: Sequence[int], **options: Any) -> int:
        return math.prod(shape) + sum(shape)

    def noise(self, standard_normal: Tensor) -> Tensor:
        noise = standard_normal
        for mode, log_scale in enumerate(self.log_scales):
            others = [1] * self.mean.dim()
            others[mode] = -1
            noise = noise * log_scale.exp().view(others)
        return noise

    def log_det(self) -> Tensor:
        entries = self.mean.numel()
        terms = [entries // len(log_scale) * log_scale.sum() for log_scale in self.log_scales]
        return torch.stack(terms).sum()

    def trace(self) -> Tensor:
        return torch.stack([(2 * log_scale).exp().sum() for log_scale in self.log_scales]).prod()

    def lipschitz(self, norm: Norm[T]) -> T:
        return composition([largest(log_scale, norm) for log_scale in self.log_scales])

    def scales(self) -> list[Tensor]:
        return [log_scale.exp() for log_scale in self.log_scales]

    def across(self, cut: Cut, scales: Sequence[float]) -> Posterior:
        units = Units.of(cut, scales)
        return Across(cut, KDiagOfBlocks(self.mean.detach(), cut, units.rest), units)

    def local_deviation(self, inputs: Tensor) -> Tensor:
        _, in_scale = self.scales()
        length: Tensor = torch.linalg.vector_norm(inputs * in_scale, dim=1, keepdim=True)
        return length

    def mix_local(self, independent: Tensor) -> Tensor:
        out_scale, _ = self.scales()
        return independent * out_scale


class KDiagOfBlocks(KDiag, Divisible):
    """W = M + diag(u) (σ∘E) diag(v): u and v run across blocks, σ is one scale for each block.

    Without σ the family would not contain a prior whose variances by block are no product of one
    factor for the rows and one for the columns.

    Arguments:
        center: The initial mean: the prior's centre.
        cut: Where the tensor is cut.
        scales: The initial standard deviation of every block, row by row.
    """

    def __init__(self, center: Tensor, cut: Cut, scales: Sequence[float]) -> None:
        super().__init__(center, 1.0)
        self._cut = cut
        grid = center.new_tensor(scales).log().view(len(cut.rows), -1)
        self.log_blocks = nn.Parameter(grid)  # (blocks along rows, along columns)

    def noise(self, standard_normal: Tensor) -> Tensor:
        rows, columns = self._cut.block_of_row(), self._cut.block_of_column()
        scales = self.log_blocks.exp()[rows][:, columns]
        others = [1] * (self.mean.dim() - 2)
        return super().noise(standard_normal) * scales.view(*scales.shape, *others)

    def log_det(self) -> Tensor:
        return torch.stack([self.part_log_det(at) for at in self._cut.entries]).sum()

    def trace(self) -> Tensor:
        return torch.stack([self.part_trace(at) for at in self._cut.entries]).sum()

    def lipschitz(self, norm: Norm[T]) -> T:
        return composition([super().lipschitz(norm), largest(self.log_blocks, norm)])

    def scales(self) -> list[Tensor]:
        return [*super().scales(), self.log_blocks.exp()]

    def _parts(self, at: Entries) -> tuple[Tensor, list[Tensor]]:
        """The logarithms of σ and of the scales along each mode, for one block."""
        along = [at.along(mode, log_scale) for mode, log_scale in enumerate(self.log_scales)]
        return self.log_blocks[at.row, at.column], along

    def part_log_det(self, at: Entries) -> Tensor:
        block, along = self._parts(at)
        entries = math.prod(map(len, along))
        terms = [entries // len(log_scale) * log_scale.sum() for log_scale in along]
        return torch.stack([entries * block, *terms]).sum()

    def part_trace(self, at: Entries) -> Tensor:
        block, along = self._parts(at)
        sums = [(2 * log_scale).exp().sum() for log_scale in along]
        return torch.stack([(2 * block).exp(), *sums]).prod()

    def part_scales(self, at: Entries) -> list[Tensor]:
        block, along = self._parts(at)
        return [block.exp(), *(log_scale.exp() for log_scale in along)]

    def local_deviation(self, inputs: Tensor) -> Tensor:
        _, in_scale, _ = self.scales()
        parts = self._cut.split_columns(inputs * in_scale, 1)
        lengths = torch.stack([torch.linalg.vector_norm(part, dim=1) for part in parts], 1)
        deviation = local_deviation(lengths, (2 * self.log_blocks).exp())  # (batch, blocks)
        return deviation[:, self._cut.block_of_row()]  # (batch, out)

    def mix_local(self, independent: Tensor) -> Tensor:
        out_scale, *_ = self.scales()
        return independent * out_scale
