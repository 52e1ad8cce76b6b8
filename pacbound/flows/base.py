"""The interface of every flow."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from pacbound.flows.lipschitz import Norm, T

__all__ = ["Flow"]


class Flow(nn.Module, ABC):
    """A volume-preserving bijection of Rⁿ: log|det ∂g/∂x| = 0 everywhere.

    It acts on the last dimension of a tensor of any shape. A new flow is the identity.

    Arguments:
        size: n.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """g(x), in the shape of x."""

    @abstractmethod
    def inverse(self, y: Tensor) -> Tensor:
        """The x with g(x) = y."""

    @abstractmethod
    def lipschitz(self, norm: Norm[T]) -> T:
        """A Lipschitz constant of g for the Euclidean norm, from spectral norms computed by `norm`.

        With `certified_norm` it is a float, proved not to be below the smallest such constant. With
        the norms of `EstimatedNorm` it is a tensor for training, and not a bound.
        """
