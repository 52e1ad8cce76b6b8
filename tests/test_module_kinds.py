"""What people's modules contain, from `stochastic` to `predict`, around every kind of prior."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pacbound
from pacbound.priors import Elsewhere, Initialised, Learned


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.read = nn.LSTM(3, 4, batch_first=True)
        self.last = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.read(x)[0][:, -1])  # type: ignore[no-any-return]


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)  # with dropout
        self.grow = nn.Linear(3, 4)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.last = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.blocks(self.grow(x)).mean(1))  # type: ignore[no-any-return]


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(15, 6), nn.Linear(15, 6)
        self.second.weight = self.first.weight
        self.last = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(1)
        return self.last((self.first(flat) + self.second(-flat)).relu())  # type: ignore[no-any-return]


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv1d(5, 4, 1)
        self.norm = nn.BatchNorm1d(4)
        self.block = nn.Conv1d(4, 4, 3, padding=1)
        self.last = nn.Linear(12, 2)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(self.stem(x)).relu()
        return self.last((hidden + self.block(hidden)).flatten(1))  # type: ignore[no-any-return]


PRIORS: dict[str, Initialised | Elsewhere] = {
    "initialised": Initialised(),
    "learned": Learned(epochs=1, batch=20),
    "elsewhere": Elsewhere(origin="an initialisation of torch"),
}
CASES = [
    (kind, prior)
    for kind in (Recurrent, Attention, Tied, Residual)
    for prior in PRIORS
    if not (kind is Residual and prior == "initialised")
]


@pytest.mark.parametrize(("kind", "prior"), CASES)
def test_from_the_module_to_predictions(kind: type[nn.Module], prior: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(120, 5, 3)).astype(np.float32)
    data = x, (x.sum((1, 2)) > 0).astype(np.int64)
    torch.manual_seed(0)
    net = pacbound.stochastic(kind(), "k-linear", PRIORS[prior])
    net.fit(data, epochs=1, batch=40, progress=False)
    certificate = net.certify(data, predictor="draw")
    net.save(tmp_path / "net.pt")
    loaded = pacbound.load(tmp_path / "net.pt", kind())
    assert loaded.certify(data, predictor="draw").overall.bound == certificate.overall.bound
    network = net.draw(data)
    classes = network(x).argmax(1).numpy()
    assert np.array_equal(loaded.predict(x, certificate).classes, classes)
    if prior != "learned":  # all examples are counted
        assert certificate.overall.errors == (classes != data[1]).sum()
    gibbs = net.certify(data, weights=5, place=2)
    assert certificate.evidence is not None and gibbs.evidence is not None
    assert gibbs.evidence.nats > 0
    probabilities = net.predict_proba(x[:4], samples=3)
    torch.testing.assert_close(probabilities.sum(1), torch.ones(4, dtype=torch.float64))
