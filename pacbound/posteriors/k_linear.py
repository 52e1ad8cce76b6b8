"""K-Linear: a scale for each entry, then one unit triangular map along each mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import torch
from torch import Tensor, nn

from pacbound.flows import Triangular
from pacbound.flows.base import Flow
from pacbound.flows.lipschitz import Norm, T, composition
from pacbound.posteriors.across import Across, Divisible, Units
from pacbound.posteriors.base import Posterior, largest
from pacbound.posteriors.cut import Cut, Entries
from pacbound.posteriors.scale import scaled, variance
from pacbound.posteriors.spread import local_deviation
from pacbound.products import full_precision

__all__ = ["KLinear", "along_mode"]

ROWS = 32  # coordinates: shorter fibres are not worth moving into rows


class KLinear(Divisible):
    """W = M + A (S∘E) Bᵀ with A and B lower triangular, ones on their diagonals.

    The unit triangular factors preserve volume, so log|det| = Σ log S. With zeros below the
    diagonal, as at the start, both factors are the identity and the family is Diag. Tensors of any
    order have one factor per mode; a mode of size 1 has none.
    """

    def __init__(self, center: Tensor, scale: float) -> None:
        super().__init__(center)
        self.log_scale = nn.Parameter(torch.full_like(center, math.log(scale)))
        self.triangles = nn.ModuleDict(
            {str(mode): Triangular(size) for mode, size in enumerate(center.shape) if size > 1}
        )

    @classmethod
    def least_numbers(cls, shape: Sequence[int], **options: Any) -> int:
        return 2 * math.prod(shape) + sum(size**2 for size in shape if size > 1)

    def triangle(self, mode: int) -> Triangular | None:
        """The map along a mode; None if its size is 1."""
        name = str(mode)
        if name not in self.triangles:
            return None
        triangle = self.triangles[name]
        assert isinstance(triangle, Triangular)
        return triangle

    def noise(self, standard_normal: Tensor) -> Tensor:
        noise = scaled(self.log_scale, standard_normal)
        out, into, *kernel = (*self.shape, 1, 1)[: max(self.mean.dim(), 2)]
        places = math.prod(kernel)
        # Maps along different modes commute. The positions of a kernel come first in memory, then
        # the output channels, so each map acts on whole rows or columns of a matrix.
        noise = noise.reshape(-1, out, into, places).movedim(-1, 0)  # (places, draws, out, in)
        within = [self.triangle(mode) for mode in range(2, self.mean.dim())]
        if matrices := [triangle.matrix() for triangle in within if triangle]:
            with full_precision(noise.device):
                # Contiguous rows make the products of the backward pass far faster.
                rows = noise.reshape(places, -1).contiguous()
                mixed = reduce(torch.kron, matrices) @ rows
            noise = mixed.view(noise.shape)
        if inner := self.triangle(1):
            noise = inner(noise)
        if outer := self.triangle(0):
            noise = along_mode(outer, noise, 2)
        return noise.permute(1, 2, 3, 0).reshape(standard_normal.shape)

    def log_det(self) -> Tensor:
        return self.log_scale.sum()

    def trace(self) -> Tensor:
        # E‖L x‖² = Σ_j E x_j² Σ_i L_ij²: one vector per mode, never the full product.
        triangles = [self.triangle(mode) for mode in range(self.mean.dim())]
        one = torch.ones_like(self.mean.flatten()[:1])
        first, *others = [triangle.column_squares() if triangle else one for triangle in triangles]
        squares = variance(self.log_scale).reshape(len(first), -1)
        total: Tensor = first @ (squares @ reduce(torch.kron, others, one))
        return total

    def across(self, cut: Cut, scales: Sequence[float]) -> Posterior:
        units = Units.of(cut, scales)
        with torch.no_grad():
            for at, scale in zip(cut.entries, units.rest, strict=True):
                at.fill(self.log_scale, math.log(scale))
        return Across(cut, self, units)

    def part_log_det(self, at: Entries) -> Tensor:
        return at.of(self.log_scale).sum()

    def part_trace(self, at: Entries) -> Tensor:
        # The sum of the entries of A² S² (B²)ᵀ in the block, by one vector per mode: the squares of
        # a map are summed over the block's rows alone. Those of the first mode read no later rows.
        order, reach = self.mean.dim(), at.reach
        one = torch.ones_like(self.mean.flatten()[:1])
        first, *others = [
            triangle.column_squares(partial(at.along, mode)) if triangle else one
            for mode, triangle in ((mode, self.triangle(mode)) for mode in range(order))
        ]
        squares = variance(self.log_scale[:reach]).reshape(reach, -1)
        total: Tensor = first[:reach] @ (squares @ reduce(torch.kron, others, one))
        return total

    def part_scales(self, at: Entries) -> list[Tensor]:
        return [at.of(self.log_scale).exp()]

    def scales(self) -> list[Tensor]:
        return [self.log_scale.exp()]

    def lipschitz(self, norm: Norm[T]) -> T:
        triangles = [self.triangle(mode) for mode in range(self.mean.dim())]
        constants: list[T] = [largest(self.log_scale, norm)]
        constants += [triangle.lipschitz(norm) for triangle in triangles if triangle]
        return composition(constants)

    def flaw(self) -> str | None:
        for mode in self.triangles:
            triangle = self.triangle(int(mode))
            if triangle and not triangle.is_triangular():
                return f"the map of mode {mode} is not a unit lower triangle"
        return super().flaw()

    def local_deviation(self, inputs: Tensor) -> Tensor:
        inner = self.triangle(1)
        mixed = inner.transposed(inputs) if inner else inputs  # (batch, in)
        return local_deviation(mixed, variance(self.log_scale))

    def mix_local(self, independent: Tensor) -> Tensor:
        outer = self.triangle(0)
        return outer(independent) if outer else independent


def along_mode(flow: Flow, tensor: Tensor, mode: int) -> Tensor:
    """Apply a flow to every fibre of a tensor along one mode.

    If fibres are not rows in memory, or are short, the mode is moved first in memory: maps of few
    coordinates are fastest in this layout.
    """
    if tensor.stride(mode) == 1 and flow.size >= ROWS:
        rows = tensor.movedim(mode, -1)
        along: Tensor = flow(rows.reshape(-1, flow.size))
        return along.view(rows.shape).movedim(-1, mode)
    fibres = tensor.movedim(mode, 0)
    mapped: Tensor = flow(fibres.reshape(flow.size, -1).T).T
    return mapped.reshape(fibres.shape).movedim(0, mode)
