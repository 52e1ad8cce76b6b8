"""The digest of tensors, against the specification written another way."""

from __future__ import annotations

import hashlib
import struct

import pytest
import torch
from torch import Tensor

from pacbound.networks.digests import tensors_digest


def test_the_digest_of_the_specification() -> None:
    """Its appendix C."""
    tensors = {"w": torch.tensor([[0.5, -2.0]]), "b": torch.tensor([0.0, 1.0])}
    expected = "bcaaee5b260b6a55dd1953da905f8d78d4d9352084514317d49a2d9682a8f0ca"
    assert tensors_digest(tensors) == expected


@pytest.mark.parametrize(
    ("tensor", "described"),
    [
        (torch.tensor([True, False]), b"bool 2\n\x01\x00"),
        (torch.tensor([1, 255], dtype=torch.uint8), b"uint8 2\n\x01\xff"),
        (torch.tensor([-1], dtype=torch.int8), b"int8 1\n\xff"),
        (torch.tensor([258], dtype=torch.int16), b"int16 1\n\x02\x01"),
        (torch.tensor([-2], dtype=torch.int32), b"int32 1\n\xfe\xff\xff\xff"),
        (torch.tensor(3), b"int64 -\n\x03" + bytes(7)),
        (torch.tensor([1.0], dtype=torch.float16), b"float16 1\n" + struct.pack("<e", 1.0)),
        (torch.tensor([1.0], dtype=torch.bfloat16), b"bfloat16 1\n\x80\x3f"),
        (torch.tensor(-2.0, dtype=torch.bfloat16), b"bfloat16 -\n\x00\xc0"),
        (torch.tensor([[1.5]]), b"float32 1x1\n" + struct.pack("<f", 1.5)),
        (torch.tensor([0.1], dtype=torch.float64), b"float64 1\n" + struct.pack("<d", 0.1)),
        (torch.zeros(0, 3), b"float32 0x3\n"),
    ],
)
def test_every_type(tensor: Tensor, described: bytes) -> None:
    expected = hashlib.sha256(b"pacbound-tensors/2\nt " + described).hexdigest()
    assert tensors_digest({"t": tensor}) == expected


def test_rows_come_one_after_the_other_and_names_in_the_order_of_bytes() -> None:
    matrix = torch.arange(6.0).reshape(2, 3)
    names = ["é", "z", "a.b", "a"]
    tensors = dict.fromkeys(names, matrix.T)
    content = b"pacbound-tensors/2\n"
    for name in sorted(name.encode() for name in names):
        content += name + b" float32 3x2\n" + struct.pack("<6f", 0, 3, 1, 4, 2, 5)
    assert tensors_digest(tensors) == hashlib.sha256(content).hexdigest()
    assert tensors_digest(dict.fromkeys(reversed(names), matrix.T)) == tensors_digest(tensors)


def test_names_and_types_that_have_no_digest_are_refused() -> None:
    for name in ("a b", "a\nb"):
        with pytest.raises(ValueError, match="space or a line feed"):
            tensors_digest({name: torch.zeros(1)})
    with pytest.raises(ValueError, match="do not support this type"):
        tensors_digest({"c": torch.zeros(1, dtype=torch.complex64)})
