"""K-Linear: a scale for each entry, then one unit triangular map along each mode."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from pacbound.flows import Triangular
from pacbound.flows.base import Flow
from pacbound.flows.lipschitz import Norm, T, composition
from pacbound.posteriors.base import Posterior, largest
from pacbound.posteriors.spread import local_spread

__all__ = ["KLinear", "along_mode"]


class KLinear(Posterior):
    """W = M + A (S∘E) Bᵀ with A and B lower triangular, ones on their diagonals.

    The unit triangles preserve volume, so log|det| = Σ log S, and both vanish from Diag when
    their entries below the diagonal are zero, which is how they start. Tensors of any order
    have one triangle for each mode; a mode of size 1 has none.
    """

    def __init__(self, center: Tensor, scale: float) -> None:
        super().__init__(center)
        self.log_scale = nn.Parameter(torch.full_like(center, math.log(scale)))
        self.triangles = nn.ModuleDict(
            {str(mode): Triangular(size) for mode, size in enumerate(center.shape) if size > 1}
        )

    def triangle(self, mode: int) -> Triangular | None:
        """The map along a mode; None where its size is 1."""
        name = str(mode)
        if name not in self.triangles:
            return None
        triangle = self.triangles[name]
        assert isinstance(triangle, Triangular)
        return triangle

    def noise(self, standard_normal: Tensor) -> Tensor:
        noise = self.log_scale.exp() * standard_normal
        for mode in range(noise.dim()):
            if triangle := self.triangle(mode):
                noise = along_mode(triangle, noise, mode)
        return noise

    def log_det(self) -> Tensor:
        return self.log_scale.sum()

    def trace(self) -> Tensor:
        # E‖L x‖² = Σ_j E x_j² Σ_i L_ij²: one vector for each mode, never the full product.
        total = (2 * self.log_scale).exp()
        for mode in reversed(range(total.dim())):
            triangle = self.triangle(mode)
            total = total @ triangle.column_squares() if triangle else total.squeeze(-1)
        return total

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

    def local_noise(self, inputs: Tensor, standard_normal: Tensor) -> Tensor:
        outer, inner = self.triangle(0), self.triangle(1)
        mixed = inner.transposed(inputs) if inner else inputs  # (batch, in)
        noise = local_spread(mixed, (2 * self.log_scale).exp(), standard_normal)
        return outer(noise) if outer else noise


def along_mode(flow: Flow, tensor: Tensor, mode: int) -> Tensor:
    """Apply a flow to every fibre of a tensor along one mode."""
    mapped: Tensor = flow(tensor.movedim(mode, -1))
    return mapped.movedim(-1, mode)
