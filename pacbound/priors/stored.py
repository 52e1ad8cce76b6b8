"""A prior that is kept with its posterior, because it cannot be made again from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pacbound.errors import CheckpointError

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["StoredPrior"]


@dataclass(frozen=True, kw_only=True)
class StoredPrior:
    """N(center, λI), with one λ per variance group.

    Arguments:
        center: The centre of every weight, and the constants: frozen parameters and buffers.
        variances: λ of every group; None for variances on the grid, at a price.
        validation: The number of examples that were neither counted nor fitted to, and the centre's
            errors on them.
    """

    center: dict[str, Tensor]
    variances: tuple[float, ...] | None
    validation: tuple[int, int] = (0, 0)
    fitted: Tensor | None = None  # the digests of the examples that the variances were fitted on

    @property
    def sha256(self) -> str:
        """The digest of the centre and the constants. The certificate records the variances."""
        from pacbound.networks.digests import tensors_digest

        return tensors_digest(self.center)

    def ensure_fits(self, plain: nn.Module) -> None:
        """Refuse the values of another network."""
        from pacbound.networks.values import values_of

        shapes = {name: (value.shape, value.dtype) for name, value in values_of(plain).items()}
        if shapes != {name: (value.shape, value.dtype) for name, value in self.center.items()}:
            raise CheckpointError("the prior's centre is not of the network of its settings")
