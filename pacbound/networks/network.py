"""The description of a network: its name, its factory, and its valid settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Builder", "Network"]

# Called with the input shape, the setting `hidden`, the number of classes and, if the network
# supports it, whether to use batch normalisation.
Builder: TypeAlias = "Callable[..., nn.Module]"


@dataclass(frozen=True)
class Network:
    """A kind of network by its name.

    Arguments:
        build: The factory; None for a module that the user gives.
        flaw: Says what is wrong with the setting `hidden`, if anything.
        allows_batch_norm: Whether it supports batch normalisation.
    """

    name: str
    build: Builder | None
    flaw: Callable[[tuple[int, ...]], str | None] = lambda hidden: None
    allows_batch_norm: bool = False

    @property
    def is_given(self) -> bool:
        """Whether the user gives the module."""
        return self.build is None
