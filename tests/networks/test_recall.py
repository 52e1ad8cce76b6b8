"""Passes over the same examples share what does not depend on the draw, and change no bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pacbound.networks.initializers import prior_center
from pacbound.networks.mlp import mlp
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import posterior_named
from pacbound.predictors.chunks import Sampler
from pacbound.predictors.risk import CHUNK, Loss, losses_per_example
from pacbound.seeds import Noise, derive


def network(posterior: str) -> StochasticNetwork:
    module = mlp((5, 5), [7, 6], 3)
    center = prior_center(module, "he-normal", 0)
    return StochasticNetwork(module, center, posterior_named(posterior), [0.3])


@pytest.mark.parametrize("posterior", ["diag", "k-diag", "k-linear"])
def test_logits_are_equal_to_the_bit(posterior: str) -> None:
    plain, recalling = network(posterior), network(posterior)
    recalling.recall()
    generator = torch.Generator().manual_seed(0)
    batches = [torch.rand(9, 5, 5, generator=generator) for _ in range(2)]
    with torch.no_grad():
        for number in (0, 0, 1, 0, 1):
            source = derive("recall", number)
            expected = plain(batches[number], Noise(source))
            assert torch.equal(recalling(batches[number], Noise(source)), expected)


def test_the_first_layer_is_computed_once_for_all_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = {"calls": 0}
    one = network("diag")
    first = next(iter(one.layers.values())).posterior_of("affine")
    law = type(first).local_deviation

    def counting(self: object, inputs: torch.Tensor) -> torch.Tensor:
        counted["calls"] += inputs.shape[1] == 26
        return law(self, inputs)  # type: ignore[arg-type]

    monkeypatch.setattr(type(first), "local_deviation", counting)
    examples = torch.rand(CHUNK + 3, 5, 5), torch.zeros(CHUNK + 3, dtype=torch.int64)
    everyone = [Loss(np.arange(len(examples[1])))]
    (errors,) = losses_per_example(one, examples, everyone, 5, derive("passes"), Sampler())
    assert counted["calls"] == 2  # one for each part of the examples
    assert 0 < errors < 5 * (CHUNK + 3)
