"""The sentence encoder against BERT written out, and the reader of its weights."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from pacbound.errors import FileError, ModuleError
from pacbound.extractors import minilm
from pacbound.extractors.minilm import HEADS, LAYERS, MiniLM, _renamed
from pacbound.extractors.safetensors import read_safetensors

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefgh"]
VOCABULARY = "\n".join(WORDS).encode()


def published() -> dict[str, Tensor]:
    """Random weights under the names and shapes of the published file."""
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator) / math.sqrt(shape[-1])

    width, inner = 384, 1536
    norms = ["embeddings.LayerNorm"]
    tensors = {
        "embeddings.word_embeddings.weight": random(30_522, width),
        "embeddings.position_embeddings.weight": random(512, width),
        "embeddings.token_type_embeddings.weight": random(2, width),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            tensors[f"{layer}.attention.{name}.weight"] = 3 * random(width, width)
            tensors[f"{layer}.attention.{name}.bias"] = random(width)
        tensors[f"{layer}.intermediate.dense.weight"] = random(inner, width)
        tensors[f"{layer}.intermediate.dense.bias"] = random(inner)
        tensors[f"{layer}.output.dense.weight"] = random(width, inner)
        tensors[f"{layer}.output.dense.bias"] = random(width)
    for name in norms:
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = 1 + random(width), random(width)
    return tensors


@pytest.fixture(scope="module")
def weights() -> dict[str, Tensor]:
    return published()


@pytest.fixture(scope="module")
def model(weights) -> MiniLM:
    made = MiniLM(VOCABULARY)
    made.load_state_dict(_renamed(weights) | {"vocabulary": made.vocabulary})
    return made.eval()


def written_out(w: dict[str, Tensor], numbers: list[int]) -> Tensor:
    """BERT for one text, post-norm, exact GELU, then the mean of all positions, of length 1."""

    def norm(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, (384,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-12)

    def dense(x: Tensor, name: str) -> Tensor:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][numbers]
    x = x + w["embeddings.position_embeddings.weight"][: len(numbers)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(LAYERS):
        name = f"encoder.layer.{number}"
        q, k, v = (
            dense(x, f"{name}.attention.self.{part}").view(len(numbers), HEADS, -1).transpose(0, 1)
            for part in ("query", "key", "value")
        )
        heads = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(384 / HEADS), -1) @ v
        joined = heads.transpose(0, 1).reshape(len(numbers), 384)
        x = norm(
            x + dense(joined, f"{name}.attention.output.dense"),
            f"{name}.attention.output.LayerNorm",
        )
        hidden = F.gelu(dense(x, f"{name}.intermediate.dense"))
        x = norm(x + dense(hidden, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    return F.normalize(x.mean(0), dim=0)


@torch.inference_mode()
def test_it_is_bert_and_padding_has_no_effect(model, weights) -> None:
    texts = ["a b c", "h", "a a g f e d c b", ""]
    together = model.embed(texts)
    for row, text in zip(together, texts, strict=True):
        numbers = [2, *(WORDS.index(word) for word in text.split()), 3]
        assert torch.allclose(row, written_out(weights, numbers), atol=2e-5)


@torch.inference_mode()
def test_rows_of_bytes_are_texts(model) -> None:
    rows = np.zeros((2, 12), np.uint8)
    for row, text in zip(rows, (b"a b c", "é a h".encode()), strict=True):
        row[: len(text)] = np.frombuffer(text, np.uint8)
    features = model(torch.tensor(rows).float() / 255)
    assert torch.allclose(features, model.embed(["a b c", "é a h"]), atol=1e-6)
    assert torch.allclose(features.norm(dim=1), torch.ones(2))


def test_images_are_not_texts() -> None:
    with pytest.raises(ModuleError, match="not rows of bytes"):
        minilm.minilm((3, 32, 32))


def stored(tensors: dict[str, Tensor]) -> bytes:
    """A safetensors file, by its definition."""
    header, content = {"__metadata__": {"format": "pt"}}, b""
    kinds = {torch.float32: "F32", torch.int64: "I64", torch.float16: "F16"}
    for name, tensor in tensors.items():
        data = tensor.numpy().tobytes()
        offsets = [len(content), len(content) + len(data)]
        header[name] = {
            "dtype": kinds[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": offsets,
        }
        content += data
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


def test_safetensors_are_read() -> None:
    tensors = {"a": torch.randn(2, 3), "b": torch.arange(4), "c": torch.randn(()).half()}
    read = read_safetensors(stored(tensors), "file")
    assert set(read) == set(tensors)
    assert all(torch.equal(read[name], tensors[name]) for name in tensors)


@pytest.mark.parametrize("cut", [0, 4, 8, 30, -1])
def test_damaged_safetensors_are_refused(cut: int) -> None:
    with pytest.raises(FileError, match="is not a safetensors file"):
        read_safetensors(stored({"a": torch.randn(2, 3)})[:cut], "file")


def test_safetensors_of_another_size_are_refused() -> None:
    forged = stored({"a": torch.randn(2, 3)}).replace(b'"shape": [2, 3]', b'"shape": [9, 9]')
    with pytest.raises(FileError, match="does not have the size"):
        read_safetensors(forged, "file")
