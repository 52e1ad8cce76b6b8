"""K-Linear: a scale for each entry, then one unit triangular map along each mode."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from pacbound.posteriors.base import Posterior, along_mode
from pacbound.posteriors.diag import root_of_variance

__all__ = ["KLinear"]


class KLinear(Posterior):
    """W = M + A (S∘E) Bᵀ with A and B lower triangular, ones on their diagonals.

    The unit triangles preserve volume, so log|det| = Σ log S, and both vanish from Diag when
    their entries below the diagonal are zero, which is how they start. Tensors of any order
    have one triangle for each mode; a mode of size 1 has none.
    """

    def __init__(self, center: Tensor, scale: float) -> None:
        super().__init__(center)
        self.log_scale = nn.Parameter(torch.full_like(center, math.log(scale)))
        # The strict lower triangles; what lies on and above the diagonal is masked.
        self.below = nn.ParameterDict(
            {
                str(mode): nn.Parameter(center.new_zeros(size, size))
                for mode, size in enumerate(center.shape)
                if size > 1
            }
        )

    def triangle(self, mode: int) -> Tensor:
        """The unit lower triangular matrix of a mode of size > 1."""
        below = self.below[str(mode)]
        return below.tril(-1) + torch.eye(len(below), dtype=below.dtype)

    def noise(self, standard_normal: Tensor) -> Tensor:
        noise = self.log_scale.exp() * standard_normal
        for mode in self.below:
            noise = along_mode(noise, self.triangle(int(mode)), int(mode))
        return noise

    def log_det(self) -> Tensor:
        return self.log_scale.sum()

    def trace(self) -> Tensor:
        # E‖L x‖² = Σ_j E x_j² Σ_i L_ij²: one vector for each mode, never the full product.
        total = (2 * self.log_scale).exp()
        for mode in reversed(range(total.dim())):
            if str(mode) in self.below:
                columns = 1 + self.below[str(mode)].tril(-1).square().sum(0)
                total = total @ columns
            else:
                total = total.squeeze(-1)
        return total

    def scales(self) -> list[Tensor]:
        return [self.log_scale.exp()]

    def local_noise(self, inputs: Tensor, standard_normal: Tensor) -> Tensor:
        mixed = inputs @ self.triangle(1) if "1" in self.below else inputs  # (batch, in)
        variance = mixed.square() @ (2 * self.log_scale).exp().T  # (batch, out)
        noise = root_of_variance(variance) * standard_normal
        return noise @ self.triangle(0).T if "0" in self.below else noise
