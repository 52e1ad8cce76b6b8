"""Whole numbers as inputs: they reach an embedding as they are, and pixels do not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pacbound
from pacbound.data.notes import DataNote
from pacbound.errors import PacboundError

ROWS = 300


class Bag(nn.Module):
    """The mean of the tokens' embeddings, and a dense layer."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(ROWS, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.head(self.tokens(inputs.long()).mean(1))
        return outputs


def texts(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 80)
    most = 250 if dtype is np.uint8 else ROWS
    return generator.integers(0, most, (80, 5)).astype(dtype), labels


def test_tokens_are_never_scaled() -> None:
    tokens, labels = texts(np.int64)
    seen: list[Tensor] = []
    net = pacbound.stochastic(Bag(), posterior="diag")
    with pytest.warns(DataNote, match="x is int64; it is used as float32, exactly"):
        net.fit((tokens, labels), epochs=1, progress=False)
        certificate = net.certify((tokens, labels), predictor="draw")
    network = net.covered(certificate).network
    embedding = network.get_submodule("tokens")
    embedding.register_forward_pre_hook(lambda layer, given: seen.append(given[0]))
    network(torch.from_numpy(tokens.astype(np.float32)))
    assert torch.equal(seen[0], torch.from_numpy(tokens))
    assert net.predict(tokens, certificate).classes.shape == (80,)


def test_an_embedding_of_pixels_is_refused() -> None:
    net = pacbound.stochastic(Bag(), posterior="diag")
    with pytest.raises(PacboundError, match=r"divided by 255.*save tokens as int16 or int64"):
        net.fit(texts(np.uint8), epochs=1, progress=False)


def test_images_with_an_embedding_of_positions_are_not() -> None:
    class Placed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.places = nn.Embedding(5, 3)
            self.head = nn.Linear(15, 2)

        def forward(self, inputs: Tensor) -> Tensor:
            places = self.places(torch.arange(5, device=inputs.device))
            outputs: Tensor = self.head((inputs[..., None] * places).flatten(1))
            return outputs

    net = pacbound.stochastic(Placed(), posterior="diag")
    net.fit(texts(np.uint8), epochs=1, progress=False)
    assert net.certify(texts(np.uint8), predictor="draw").data.m == 80
