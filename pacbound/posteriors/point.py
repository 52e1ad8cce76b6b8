"""Point: no noise. The ordinary network, for comparison."""

from __future__ import annotations

import torch
from torch import Tensor

from pacbound.flows.lipschitz import Norm, T
from pacbound.posteriors.base import Posterior

__all__ = ["Point"]


class Point(Posterior):
    """W = M. Its KL to a Gaussian prior is infinite, so no certificate can be issued.

    It has no noise directions. The rest of the KL is the usual L2 penalty ‖M − Θ0‖²/2λ.
    """

    def __init__(self, center: Tensor, scale: float) -> None:
        super().__init__(center)

    @property
    def dimensions(self) -> int:
        return 0

    def noise(self, standard_normal: Tensor) -> Tensor:
        return torch.zeros_like(standard_normal)

    def log_det(self) -> Tensor:
        return torch.zeros(())

    def trace(self) -> Tensor:
        return torch.zeros(())

    def lipschitz(self, norm: Norm[T]) -> T:
        return norm(torch.zeros(1, 1))

    def scales(self) -> list[Tensor]:
        return []

    def local_deviation(self, inputs: Tensor) -> Tensor:
        return inputs.new_zeros(len(inputs), 1)
