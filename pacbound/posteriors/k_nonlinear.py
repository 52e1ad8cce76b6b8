"""K-Nonlinear: a K-Linear map, then one nonlinear volume-preserving flow along each mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Self

from torch import Tensor, nn

from pacbound.flows import Chain, build
from pacbound.flows.lipschitz import Norm, T, composition
from pacbound.posteriors.base import squared_norm
from pacbound.posteriors.k_linear import KLinear, along_mode

__all__ = ["KNonlinear"]


class KNonlinear(KLinear):
    """W = M + G(A (S∘E) Bᵀ), G applying a shift-only flow to the fibres of each mode in turn.

    The flows start as the identity, where it is K-Linear: as long as training leaves them there,
    `active = False` lets it be treated as that. The unit of the flows, where tanh bends, is the
    starting scale.

    Arguments:
        center: Where the mean starts: the prior's centre.
        scale: The standard deviation that every entry starts with.
        kind: "iaf" or "realnvp".
        hidden: The sizes of the hidden layers of each step's network.
        steps: Nonlinear steps for each mode.
        seed: What the hidden weights are drawn from.
    """

    def __init__(
        self,
        center: Tensor,
        scale: float,
        kind: str,
        hidden: Sequence[int],
        steps: int,
        seed: str,
    ) -> None:
        super().__init__(center, scale)
        self.unit = scale
        self.active = True
        self.flows = nn.ModuleDict(
            {
                str(mode): build(kind, size, hidden, steps, False, f"{seed}/{mode}", unit=scale)
                for mode, size in enumerate(center.shape)
                if size > 1
            }
        )
        self._last: tuple[Tensor, Tensor] | None = None

    @classmethod
    def family(cls, **options: Any) -> Callable[[Tensor, float], Self]:
        return partial(cls, **options)

    @classmethod
    def least_numbers(cls, shape: Sequence[int], **options: Any) -> int:
        # Each step has matrices from a side of a weight to the hidden units and back, in a coupling
        # of a half of it.
        numbers = super().least_numbers(shape)
        for size in shape:
            sizes = [size // 2, *options["hidden"], size // 2]
            if size > 1:
                numbers += options["steps"] * sum(a * b for a, b in pairwise(sizes))
        return numbers

    def activate(self, nonlinear: bool) -> None:
        self.active = nonlinear

    @property
    def is_gaussian(self) -> bool:
        return not self.active

    def chains(self) -> list[tuple[int, Chain]]:
        """The nonlinear flow of every mode of size > 1."""
        chains = []
        for mode, chain in self.flows.items():
            assert isinstance(chain, Chain)
            chains.append((int(mode), chain))
        return chains

    def noise(self, standard_normal: Tensor) -> Tensor:
        linear = super().noise(standard_normal)
        if not self.active:
            return linear
        noise, order = linear, self.mean.dim()
        for mode, chain in self.chains():
            noise = along_mode(chain, noise, mode - order)
        last = (-1,) * (noise.dim() - order)
        self._last = linear[last], noise[last]
        return noise

    def second_moment(self, center: Tensor) -> Tensor:
        """That of the linear part exactly, and the difference that the last draw made.

        The difference has a small variance where the flow is close to linear, so its gradient is
        far less noisy than that of ‖W − Θ0‖² itself.
        """
        gaussian = super().second_moment(center)
        if not self.active or self._last is None:
            return gaussian
        linear, noise = self._last
        offset = self.mean - center
        return gaussian + squared_norm(offset + noise) - squared_norm(offset + linear)

    def lipschitz(self, norm: Norm[T]) -> T:
        constants: list[T] = [super().lipschitz(norm)]
        constants += [chain.lipschitz(norm) for _, chain in self.chains()]
        return composition(constants)
