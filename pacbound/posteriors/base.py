"""The interface of every posterior."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from pacbound.flows.lipschitz import Norm, T
from pacbound.posteriors.cut import Cut

__all__ = ["Piece", "Posterior", "largest"]


class Piece(Protocol):
    """What the KL to a prior with one variance asks of a posterior, or of a block of it.

    A block of a posterior is not drawn alone: its values may depend on the noise of other blocks.
    """

    @property
    def shape(self) -> torch.Size: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def normals(self) -> int: ...
    @property
    def is_gaussian(self) -> bool: ...
    def log_det(self) -> Tensor: ...
    def trace(self) -> Tensor: ...
    def second_moment(self, center: Tensor) -> Tensor: ...
    def lipschitz(self, norm: Norm[T]) -> T: ...
    def scales(self) -> list[Tensor]: ...


class Posterior(nn.Module, ABC):
    """A distribution over one tensor: W = M + noise(E) with E standard normal.

    Arguments:
        center: The initial mean: the prior's centre.
    """

    mean: nn.Parameter
    cut: Cut | None = None  # where the tensor is cut into blocks, if it is

    def __init__(self, center: Tensor) -> None:
        super().__init__()
        self.mean = nn.Parameter(center.clone())

    @classmethod
    def family(cls, **options: Any) -> Callable[[Tensor, float], Self]:
        """A factory for a centre and an initial scale. Most families ignore the options."""
        return cls

    @classmethod
    def least_numbers(cls, shape: Sequence[int], **options: Any) -> int:
        """A lower limit of the numbers needed for a tensor of this shape, to check memory first."""
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
    def normals(self) -> int:
        """The number of standard normals that W is a function of."""
        return self.mean.numel()

    @property
    def is_gaussian(self) -> bool:
        """Whether W is normal. Its second moment is then exact and its noise local."""
        return True

    def activate(self, nonlinear: bool) -> None:
        """Use nonlinear parts, or treat them as the identity. Many families have none."""
        return

    @abstractmethod
    def noise(self, standard_normal: Tensor) -> Tensor:
        """W − M, in the shape of W; several draws of E are along leading dimensions."""

    def sample(self, standard_normal: Tensor) -> Tensor:
        """W for one draw of E, or for several."""
        return self.mean + self.noise(standard_normal)

    def pieces(self) -> list[Piece]:
        """The blocks, each with a prior variance of its own; an uncut posterior is its only one."""
        return [self]

    def sample_pieces(self, standard_normals: Sequence[Tensor]) -> list[Tensor]:
        """W for one draw of E; both are given by block, in the order of `pieces`."""
        (standard_normal,) = standard_normals
        return [self.sample(standard_normal)]

    def across(self, cut: Cut, scales: Sequence[float]) -> Posterior:
        """A posterior of this family at its start, with maps that run across the blocks of a cut.

        Valid when: its kind `maps_across`, and this one was made with scale 1.

        Arguments:
            scales: The initial standard deviation of every block, row by row.
        """
        raise NotImplementedError

    @abstractmethod
    def log_det(self) -> Tensor:
        """log |det ∂W/∂E|, the same for every E."""

    @abstractmethod
    def trace(self) -> Tensor:
        """E‖W − M‖², the trace of the covariance, of a Gaussian posterior."""

    def second_moment(self, center: Tensor) -> Tensor:
        """E‖W − Θ0‖²: exact, or estimated from the last draw if the law is not Gaussian."""
        return self.trace() + squared_norm(self.mean - center)

    @abstractmethod
    def lipschitz(self, norm: Norm[T]) -> T:
        """A Lipschitz constant of E ↦ W, from spectral norms computed by `norm`."""

    @abstractmethod
    def scales(self) -> list[Tensor]:
        """Every scale of the family. All must be finite and positive."""

    def scale_parameters(self) -> list[nn.Parameter]:
        """The parameters that are logarithms of scales."""
        return [
            parameter
            for name, parameter in self.named_parameters()
            if any(part.startswith("log_scale") for part in name.split("."))
        ]

    def flaw(self) -> str | None:
        """Why the current parameters are unusable, or None."""
        for scale in self.scales():
            if not (torch.isfinite(scale) & (scale > 0)).all():
                return "it has a zero or infinite scale"
        return None

    def local_noise(self, inputs: Tensor, standard_normal: Tensor) -> Tensor:
        """x(W − M)ᵀ for every row x of `inputs`, each row with its own independent W.

        Valid when: W is normal and the weight of a dense layer, shape (out, in).

        Arguments:
            inputs: (batch, in)
            standard_normal: (batch, out)
        """
        return self.mix_local(self.local_deviation(inputs) * standard_normal)

    @property
    def local_width(self) -> int:
        """The number of independent normals that local noise needs for one example."""
        return self.shape[0]

    def local_deviation(self, inputs: Tensor) -> Tensor:
        """The part of `local_noise` that all draws share; (batch, local_width) or (batch, 1)."""
        raise NotImplementedError

    def mix_local(self, independent: Tensor) -> Tensor:
        """The part that correlates independent outputs; (batch, out)."""
        return independent


def largest(log_scale: Tensor, norm: Norm[T]) -> T:
    """The largest scale in the arithmetic of `norm`, above the rounding of its exponential."""
    return norm(log_scale.max().exp().reshape(1, 1) * (1 + 1e-12))


def squared_norm(tensor: Tensor) -> Tensor:
    """‖tensor‖², with its gradient in one pass over the tensor."""
    squared: Tensor = _SquaredNorm.apply(tensor)  # type: ignore[no-untyped-call]
    return squared


class _SquaredNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        ctx.save_for_backward(tensor)
        if not tensor.is_contiguous():
            return tensor.square().sum()
        flat = tensor.flatten()
        return flat @ flat  # allocates nothing

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (tensor,) = ctx.saved_tensors
        gradient: Tensor = tensor * (2 * gradients[0])
        return gradient
