"""Triangular: a linear map with a unit lower triangular matrix."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pacbound.flows.base import Flow
from pacbound.flows.lipschitz import Norm, T

__all__ = ["Triangular"]


class Triangular(Flow):
    """x ↦ L x with L lower triangular and ones on its diagonal.

    Example:
        >>> Triangular(3)(torch.tensor([1.0, 2.0, 3.0])).tolist()
        [1.0, 2.0, 3.0]
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        # The strict lower triangle; what lies on and above the diagonal is masked.
        self.below = nn.Parameter(torch.zeros(size, size))

    def matrix(self) -> Tensor:
        """L."""
        identity = torch.eye(self.size, dtype=self.below.dtype, device=self.below.device)
        return self.below.tril(-1) + identity

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.matrix().T

    def inverse(self, y: Tensor) -> Tensor:
        rows = y.reshape(-1, self.size)  # row by row y = x Lᵀ
        solved: Tensor = torch.linalg.solve_triangular(
            self.matrix().T, rows, upper=True, left=False, unitriangular=True
        )
        return solved.reshape(y.shape)

    def lipschitz(self, norm: Norm[T]) -> T:
        return norm(self.matrix())
