"""A residual network with batch normalisation, for learned priors and priors from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pacbound.networks.network import Network

if TYPE_CHECKING:
    from torch import nn

__all__ = ["RESNET"]


def _build(
    input_shape: Sequence[int], hidden: Sequence[int], classes: int, mirrors: bool
) -> nn.Module:
    from pacbound.networks.residual import ResNet

    return ResNet(input_shape, hidden, classes, mirrors)


def _flaw(hidden: tuple[int, ...]) -> str | None:
    if len(hidden) == 3:
        return None
    return "must have three sizes for resnet, such as [64, 256, 256]: the channels of each block"


RESNET = Network(
    "resnet",
    _build,
    flaw=_flaw,
    can_mirror=True,
    learns_statistics=True,
    is_observed=True,
)
