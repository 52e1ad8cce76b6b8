"""Small modules of a user, trained and certified in a moment."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor, nn

import pacbound
from pacbound.api import StochasticModule
from pacbound.certificate.format import Certificate
from pacbound.data import Dataset

SMALL: dict[str, Any] = {"epochs": 3, "batch": 100, "learning_rate": 0.02, "progress": False}


def dense() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))


class Columns(nn.Module):
    """Every column of an image through one dense layer, with normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.each = nn.Linear(4, 6)
        self.norm = nn.LayerNorm(6)
        self.last = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(self.norm(self.each(x).relu()).mean(1))
        return logits


def trained(data: object, module: nn.Module | None = None, **more: Any) -> StochasticModule:
    net = pacbound.stochastic(module or dense(), posterior="diag")
    return net.fit(data, **{**SMALL, **more})


def arrays(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    return data.train_inputs, data.train_labels


def certified(net: StochasticModule, data: object, **options: Any) -> Certificate:
    return net.certify(data, **{"delta": 0.05, "weights": 60, "draws": 3000, **options})
