"""Test examples that sampled weights judge: each once, spread evenly over the test set."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from single_losses import errors_per_weights
from torch import Tensor


class Recorder:
    """In the place of a network: it is right, and remembers what it saw after the batch."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __deepcopy__(self, memo: Any) -> Recorder:
        return self

    def to(self, device: Any) -> Recorder:
        return self

    def __call__(self, inputs: Tensor, source: Any) -> Tensor:
        self.seen += inputs[2:, 0].int().tolist()
        return torch.tensor([[1.0, 0.0]]).repeat(len(inputs), 1)


@pytest.mark.parametrize(("draws", "examples"), [(10, 100), (7, 100), (100, 100), (120, 100)])
def test_they_are_spread_evenly(draws: int, examples: int) -> None:
    network: Any = Recorder()
    train = torch.zeros(5, 1), torch.zeros(5, dtype=torch.int64)
    test = torch.arange(examples)[:, None].float(), torch.zeros(examples, dtype=torch.int64)
    _, (wrong, tested) = errors_per_weights(network, train, test, draws, 2, "ab")
    assert (wrong, tested) == (0, min(draws, examples))
    assert len(set(network.seen)) == len(network.seen) == tested
    gaps = {b - a for a, b in zip(network.seen, network.seen[1:], strict=False)}
    assert gaps <= {examples // tested, -(-examples // tested)}
