"""What every posterior offers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from pacbound.flows.lipschitz import Norm, T

__all__ = ["Posterior", "largest"]


class Posterior(nn.Module, ABC):
    """A distribution over one tensor: W = M + noise(E) with E standard normal.

    Arguments:
        center: Where the mean starts: the prior's centre.
    """

    mean: nn.Parameter

    def __init__(self, center: Tensor) -> None:
        super().__init__()
        self.mean = nn.Parameter(center.clone())

    @classmethod
    def family(cls, **options: Any) -> Callable[[Tensor, float], Self]:
        """What makes it from a centre and a starting scale; most have no use for the options."""
        return cls

    @classmethod
    def least_numbers(cls, shape: Sequence[int], **options: Any) -> int:
        """At least so many numbers describe it for a tensor of this shape: asked before memory."""
        return math.prod(shape)

    @property
    def shape(self) -> torch.Size:
        """The shape of W."""
        return self.mean.shape

    @property
    def dimensions(self) -> int:
        """d: the number of directions in which W varies."""
        return self.mean.numel()

    @property
    def is_gaussian(self) -> bool:
        """Whether W is normal: its second moment is then exact and its noise local."""
        return True

    def activate(self, nonlinear: bool) -> None:
        """Use nonlinear parts, or treat them as the identity while they are; many have none."""
        return

    @abstractmethod
    def noise(self, standard_normal: Tensor) -> Tensor:
        """W − M, in the shape of W; for several draws of E along dimensions before that shape."""

    def sample(self, standard_normal: Tensor) -> Tensor:
        """W for one draw of E, or for several."""
        return self.mean + self.noise(standard_normal)

    @abstractmethod
    def log_det(self) -> Tensor:
        """log |det ∂W/∂E|, which is the same for every E."""

    @abstractmethod
    def trace(self) -> Tensor:
        """E‖W − M‖², the trace of the covariance, of a Gaussian posterior."""

    def second_moment(self, center: Tensor) -> Tensor:
        """E‖W − Θ0‖²: exact, or estimated from the last draw where the law is not Gaussian."""
        return self.trace() + squared_norm(self.mean - center)

    @abstractmethod
    def lipschitz(self, norm: Norm[T]) -> T:
        """A Lipschitz constant of E ↦ W, from spectral norms taken by `norm`."""

    @abstractmethod
    def scales(self) -> list[Tensor]:
        """Every scale of the family; all must be finite and positive."""

    def flaw(self) -> str | None:
        """What makes the present parameters unusable, if anything does."""
        for scale in self.scales():
            if not (torch.isfinite(scale) & (scale > 0)).all():
                return "it has a zero or infinite scale"
        return None

    def local_noise(self, inputs: Tensor, standard_normal: Tensor) -> Tensor:
        """x(W − M)ᵀ for every row x of `inputs`, each row with its own independent W.

        Valid when: W is normal, and the weight of a dense layer; shape (out, in).

        Arguments:
            inputs: (batch, in)
            standard_normal: (batch, out)
        """
        return self.mix_local(self.local_deviation(inputs) * standard_normal)

    def local_deviation(self, inputs: Tensor) -> Tensor:
        """What `local_noise` has whatever is drawn; (batch, out) or (batch, 1)."""
        raise NotImplementedError

    def mix_local(self, independent: Tensor) -> Tensor:
        """The part that makes correlated outputs of independent ones; (batch, out)."""
        return independent


def largest(log_scale: Tensor, norm: Norm[T]) -> T:
    """The largest scale, in the arithmetic of `norm`, and above the rounding of its exponential."""
    return norm(log_scale.max().exp().reshape(1, 1) * (1 + 1e-12))


def squared_norm(tensor: Tensor) -> Tensor:
    """‖tensor‖², with a gradient in one pass over the tensor."""
    squared: Tensor = _SquaredNorm.apply(tensor)  # type: ignore[no-untyped-call]
    return squared


class _SquaredNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        ctx.save_for_backward(tensor)
        if not tensor.is_contiguous():
            return tensor.square().sum()
        flat = tensor.flatten()
        return flat @ flat  # which writes nothing

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (tensor,) = ctx.saved_tensors
        gradient: Tensor = tensor * (2 * gradients[0])
        return gradient
