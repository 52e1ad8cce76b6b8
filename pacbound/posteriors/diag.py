"""Diag: independent normal entries, W = M + S∘E."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pacbound.flows.lipschitz import Norm, T
from pacbound.posteriors.base import Posterior, largest
from pacbound.posteriors.scale import scaled, variance
from pacbound.posteriors.spread import local_deviation

__all__ = ["Diag"]


class Diag(Posterior):
    """W = M + S∘E: every entry has its own scale, and entries are uncorrelated.

    Example:
        >>> q = Diag(torch.zeros(2, 3), scale=0.5)
        >>> float(q.trace())
        1.5
    """

    def __init__(self, center: Tensor, scale: float) -> None:
        super().__init__(center)
        self.log_scale = nn.Parameter(torch.full_like(center, math.log(scale)))

    @classmethod
    def least_numbers(cls, shape: Sequence[int], **options: Any) -> int:
        return 2 * math.prod(shape)

    def noise(self, standard_normal: Tensor) -> Tensor:
        return scaled(self.log_scale, standard_normal)

    def log_det(self) -> Tensor:
        return self.log_scale.sum()

    def trace(self) -> Tensor:
        return variance(self.log_scale).sum()

    def lipschitz(self, norm: Norm[T]) -> T:
        return largest(self.log_scale, norm)

    def scales(self) -> list[Tensor]:
        return [self.log_scale.exp()]

    def local_deviation(self, inputs: Tensor) -> Tensor:
        return local_deviation(inputs, variance(self.log_scale))
