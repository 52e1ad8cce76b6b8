"""K-Diag: one scale vector per mode, W = M + diag(u) E diag(v)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pacbound.flows.lipschitz import Norm, T, composition
from pacbound.posteriors.base import Posterior, largest

__all__ = ["KDiag"]


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

    def local_deviation(self, inputs: Tensor) -> Tensor:
        _, in_scale = self.scales()
        length: Tensor = torch.linalg.vector_norm(inputs * in_scale, dim=1, keepdim=True)
        return length

    def mix_local(self, independent: Tensor) -> Tensor:
        out_scale, _ = self.scales()
        return independent * out_scale
