"""What a network is to the settings: its name, what makes it, and what its settings may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Builder", "Network"]

# Of the shape of an input, the setting `hidden` and the number of classes; and whether to normalise
# batches, where the network allows that.
Builder: TypeAlias = "Callable[..., nn.Module]"


@dataclass(frozen=True)
class Network:
    """A kind of network by its name.

    Arguments:
        build: What makes it; None for a module that the user gives.
        flaw: What is wrong with the setting `hidden`, if anything is.
        allows_batch_norm: Whether it can normalise batches.
    """

    name: str
    build: Builder | None
    flaw: Callable[[tuple[int, ...]], str | None] = lambda hidden: None
    allows_batch_norm: bool = False

    @property
    def is_given(self) -> bool:
        """Whether the user gives the module."""
        return self.build is None
