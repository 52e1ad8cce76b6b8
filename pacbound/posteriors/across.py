"""One posterior of a tensor whose blocks have prior variances of their own.

Its maps run across the blocks, so that weights of different blocks are correlated. The KL to a
prior N(Θ0, λ_b I) for every block b still splits by block:

    KL = Σ_b ½[T_b/λ_b − d_b + d_b log λ_b] − log|det|,    T_b = E‖W_b − Θ0_b‖²,

because the prior's log-density does, and log|det| is a sum over entries. Each block has its own
d_b, T_b and share of log|det|, like independent posteriors of blocks. For a triangular map, the
share of a block in the KL is the sum over its entries of their expected KL given the earlier
entries, so it is not negative.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pacbound.flows.lipschitz import Norm, T
from pacbound.posteriors.base import Piece, Posterior, squared_norm
from pacbound.posteriors.cut import Cut, Entries

__all__ = ["Across", "Block", "Divisible"]


class Divisible(Posterior):
    """A posterior whose log|det| and second moment can be divided among the blocks of a cut."""

    @abstractmethod
    def part_log_det(self, at: Entries) -> Tensor:
        """The block's share of log|det|: of the logarithms of the scales of its entries."""

    @abstractmethod
    def part_trace(self, at: Entries) -> Tensor:
        """E‖W_b − M_b‖² of a block, if the law is Gaussian."""

    @abstractmethod
    def part_scales(self, at: Entries) -> list[Tensor]:
        """The scales whose logarithms are summed for the block's share of log|det|."""

    def part_second_moment(self, at: Entries, center: Tensor) -> Tensor:
        """E‖W_b − Θ0_b‖²: exact, or estimated from the last draw if the law is not Gaussian."""
        return self.part_trace(at) + squared_norm(at.of(self.mean) - center)


class Block:
    """A block of a posterior whose maps run across blocks. It is not drawn alone."""

    def __init__(self, whole: Divisible, at: Entries) -> None:
        self._whole = whole
        self._at = at

    @property
    def shape(self) -> torch.Size:
        return self.mean.shape

    @property
    def mean(self) -> Tensor:
        return self._at.of(self._whole.mean)

    @property
    def dimensions(self) -> int:
        return self.mean.numel()

    @property
    def normals(self) -> int:
        return self._whole.normals

    @property
    def is_gaussian(self) -> bool:
        return self._whole.is_gaussian

    def log_det(self) -> Tensor:
        return self._whole.part_log_det(self._at)

    def trace(self) -> Tensor:
        return self._whole.part_trace(self._at)

    def second_moment(self, center: Tensor) -> Tensor:
        return self._whole.part_second_moment(self._at, center)

    def lipschitz(self, norm: Norm[T]) -> T:
        """A Lipschitz constant of E ↦ W_b, where E is the noise of all blocks.

        W_b is a selection of the entries of W, and ‖W_b − W'_b‖ ≤ ‖W − W'‖. So the constant of the
        whole map is valid for every block, whatever the prior variances are. It is not sharp for a
        block of small scales.
        """
        return self._whole.lipschitz(norm)

    def scales(self) -> list[Tensor]:
        return self._whole.part_scales(self._at)


class Across(Posterior):
    """One posterior over all blocks of a tensor.

    Arguments:
        cut: Where the tensor is cut.
        whole: The posterior of the whole tensor.
    """

    def __init__(self, cut: Cut, whole: Divisible) -> None:
        nn.Module.__init__(self)
        self.cut: Cut = cut
        self.whole = whole
        self._blocks = [Block(whole, at) for at in cut.entries]

    def pieces(self) -> list[Piece]:
        return [*self._blocks]

    def sample_pieces(self, standard_normals: Sequence[Tensor]) -> list[Tensor]:
        return self.cut.parts(self.sample(self.cut.whole(standard_normals)))

    @property
    def mean(self) -> Tensor:  # type: ignore[override]
        return self.whole.mean

    @property
    def is_gaussian(self) -> bool:
        return self.whole.is_gaussian

    def activate(self, nonlinear: bool) -> None:
        self.whole.activate(nonlinear)

    def noise(self, standard_normal: Tensor) -> Tensor:
        return self.whole.noise(standard_normal)

    def log_det(self) -> Tensor:
        return self.whole.log_det()

    def trace(self) -> Tensor:
        return self.whole.trace()

    def second_moment(self, center: Tensor) -> Tensor:
        return self.whole.second_moment(center)

    def lipschitz(self, norm: Norm[T]) -> T:
        return self.whole.lipschitz(norm)

    def scales(self) -> list[Tensor]:
        return self.whole.scales()

    def flaw(self) -> str | None:
        return self.whole.flaw()

    @property
    def local_width(self) -> int:
        return self.whole.local_width

    def local_deviation(self, inputs: Tensor) -> Tensor:
        return self.whole.local_deviation(inputs)

    def mix_local(self, independent: Tensor) -> Tensor:
        return self.whole.mix_local(independent)
