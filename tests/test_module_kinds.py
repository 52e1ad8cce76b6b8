"""What people's modules contain, from `stochastic` to `predict`, around every kind of prior."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pacbound
from pacbound.data.given import dataset_given
from pacbound.predictors.export import export_network, load_exported
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


class Asking(nn.Module):
    """Reads options of its layers, calls attention by keyword, and packs its sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.read = nn.LSTM(3, 4, batch_first=True)
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)
        self.last = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        lengths = torch.full((len(x),), x.shape[1])
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        _, (state, _) = self.read(packed)
        assert state.shape[-1] == self.read.hidden_size
        query = state.transpose(0, 1)
        mixed, _ = self.attend(query=query, key=query, value=query)
        return self.last(mixed[:, 0])  # type: ignore[no-any-return]


class SharedBias(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(15, 6), nn.Linear(6, 6)
        self.second.bias = self.first.bias
        self.last = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.second(self.first(x.flatten(1)).tanh()).tanh())  # type: ignore[no-any-return]


class Masked(nn.Module):
    """Buffers of other types, one of them expanded, one in no state dict."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(15, 2)
        self.again = nn.Linear(15, 2)
        self.again.weight = self.last.weight
        self.register_buffer("kept", torch.ones(15, dtype=torch.bool))
        self.register_buffer("places", torch.arange(15))
        self.register_buffer("own", torch.ones(1).expand(15), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        seen = x.flatten(1)[:, self.places] * self.kept * self.own
        return self.last(seen) + self.again(seen)  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", [Asking, SharedBias, Masked])
def test_what_is_exported_can_be_read_as_a_state_dict(
    kind: type[nn.Module], tmp_path: Path
) -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(80, 5, 3)).astype(np.float32)
    data = x, (x.sum((1, 2)) > 0).astype(np.int64)
    torch.manual_seed(0)
    module = kind()
    checkpoint, target = tmp_path / "net.pt", tmp_path / "exported.pt"
    net = pacbound.stochastic(module, "diag", Elsewhere(origin="an initialisation of torch"))
    net.fit(data, epochs=1, batch=40, progress=False, checkpoint=checkpoint)
    certificate = net.certify(data, predictor="draw")
    export_network(checkpoint, dataset_given(data), certificate, target, module)
    ordinary = kind()
    ordinary.load_state_dict(torch.load(target, weights_only=True))
    expected = net.draw(data)(x)
    torch.testing.assert_close(ordinary.eval()(torch.from_numpy(x)), expected)
    torch.testing.assert_close(load_exported(target, kind())(x), expected.detach())
