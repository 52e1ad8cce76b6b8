"""Targets: Gaussians whose covariance is the square of a random standard Gaussian matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from pacbound.seeds import Noise, derive

__all__ = ["Targets"]


@dataclass(frozen=True, eq=False)
class Targets:
    """N(0, G Gᵀ) over tensors of one shape, G standard normal: one target per trial.

    Example:
        >>> Targets.draw((2, 3), trials=4, seed=0).root.shape
        torch.Size([4, 6, 6])
    """

    shape: tuple[int, ...]
    root: Tensor  # R = G⁻¹, (trials, d, d): the precision is Rᵀ R, entries in row-major order
    log_det: Tensor  # (trials,), of the covariance

    @property
    def dimensions(self) -> int:
        """d: the number of entries of the tensor."""
        return math.prod(self.shape)

    @property
    def trials(self) -> int:
        """The number of targets."""
        return len(self.root)

    @property
    def curvatures(self) -> Tensor:
        """The diagonal of the precision, (trials, d)."""
        return self.root.square().sum(1)

    @classmethod
    def draw(cls, shape: tuple[int, ...], trials: int, seed: int) -> Targets:
        """Each trial has its own stream, independent of the number of trials."""
        size = math.prod(shape)
        roots = torch.stack(
            [
                Noise(derive("simulation target", seed, shape, trial)).normal(
                    size, size, dtype=torch.float64
                )
                for trial in range(trials)
            ]
        )
        log_det = 2 * torch.linalg.slogdet(roots).logabsdet
        return cls(shape, torch.linalg.inv(roots), log_det)
