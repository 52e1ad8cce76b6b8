"""Layers that start from the examples of a learned prior."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor, nn

__all__ = ["Started"]


class Started(nn.Module):
    """A layer whose values are set from examples before a learned prior is trained.

    Valid when: these are the prior's own examples, none of which is counted.
    """

    @abstractmethod
    def start(self, examples: Tensor) -> None:
        """Set the values from examples, as the network sees them."""
