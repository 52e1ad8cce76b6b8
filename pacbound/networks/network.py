"""The description of a network: its name, its factory, and its valid settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Builder", "Network"]

# Called with the input shape, the setting `hidden`, the number of classes and, by name, what the
# network supports: `batch_norm`, `mirrors`.
Builder: TypeAlias = "Callable[..., nn.Module]"


@dataclass(frozen=True)
class Network:
    """A kind of network by its name.

    Arguments:
        build: The factory; None for a module that the user gives.
        flaw: Says what is wrong with the setting `hidden`, if anything.
        allows_batch_norm: Whether it supports batch normalisation.
        can_mirror: Whether it can average over images and their mirror images. It does so if the
            prior was trained on mirrored images.
        learns_statistics: Whether it has statistics of the data, so that its prior must be learned
            or from elsewhere.
        is_observed: Whether its use of its layers must be observed: it may use some twice.
    """

    name: str
    build: Builder | None
    flaw: Callable[[tuple[int, ...]], str | None] = lambda hidden: None
    allows_batch_norm: bool = False
    can_mirror: bool = False
    learns_statistics: bool = False
    is_observed: bool = False

    @property
    def is_given(self) -> bool:
        """Whether the user gives the module."""
        return self.build is None
