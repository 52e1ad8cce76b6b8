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
from pacbound.posteriors.cut import Entries
from pacbound.posteriors.k_linear import KLinear, along_mode

__all__ = ["KNonlinear"]


class KNonlinear(KLinear):
    """W = M + G(A (S∘E) Bᵀ): G applies a shift-only flow to the fibres of each mode in turn.

    The flows start as the identity, so the family starts as K-Linear. While training leaves them
    there, `active = False` allows treating it as K-Linear. The unit of the flows, where tanh bends,
    is the initial scale.

    Arguments:
        center: The initial mean: the prior's centre.
        scale: The initial standard deviation of every entry.
        kind: "iaf" or "realnvp".
        hidden: The sizes of the hidden layers of each step's network.
        steps: Nonlinear steps per mode.
        seed: The seed of the hidden weights.
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
        # Each step has matrices from a mode of the weight to the hidden units and back. A coupling
        # uses half of the mode.
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
        """Exact for the linear part, plus the difference made by the last draw.

        The difference has a small variance if the flow is close to linear, so its gradient is far
        less noisy than that of ‖W − Θ0‖² itself.
        """
        gaussian = super().second_moment(center)
        if not self.active or self._last is None:
            return gaussian
        linear, noise = self._last
        offset = self.mean - center
        return gaussian + squared_norm(offset + noise) - squared_norm(offset + linear)

    def part_second_moment(self, at: Entries, center: Tensor, unit: Tensor) -> Tensor:
        gaussian = super().part_second_moment(at, center, unit)
        if not self.active or self._last is None:
            return gaussian
        linear, noise = (unit * at.of(tensor) for tensor in self._last)
        offset = at.of(self.mean) - center
        return gaussian + squared_norm(offset + noise) - squared_norm(offset + linear)

    def lipschitz(self, norm: Norm[T]) -> T:
        constants: list[T] = [super().lipschitz(norm)]
        constants += [chain.lipschitz(norm) for _, chain in self.chains()]
        return composition(constants)
