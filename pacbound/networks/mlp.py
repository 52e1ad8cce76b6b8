"""Multi-layer perceptrons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from pacbound.networks.network import Network

if TYPE_CHECKING:
    from torch import nn

__all__ = ["MLP", "mlp"]


def mlp(input_shape: Sequence[int], hidden: Sequence[int], classes: int) -> nn.Module:
    """Dense layers of the given sizes with ReLU between them.

    Example:
        >>> mlp((28, 28), [600], 10)
        Sequential(
          (0): Flatten(start_dim=1, end_dim=-1)
          (1): Linear(in_features=784, out_features=600, bias=True)
          (2): ReLU()
          (3): Linear(in_features=600, out_features=10, bias=True)
        )
    """
    from torch import nn

    sizes = [math.prod(input_shape), *hidden, classes]
    layers: list[nn.Module] = [nn.Flatten()]
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        if i > 0:
            layers.append(nn.ReLU())
        layers.append(nn.Linear(inputs, outputs))
    return nn.Sequential(*layers)


MLP = Network("mlp", mlp)
