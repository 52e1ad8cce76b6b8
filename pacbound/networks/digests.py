"""The SHA-256 digest of named tensors, as defined in SPEC.md."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from pacbound.data.digests import shape_text

__all__ = ["tensors_digest"]

DTYPES = {
    torch.bool: "bool",
    torch.uint8: "uint8",
    torch.int8: "int8",
    torch.int16: "int16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
}


def tensors_digest(tensors: Mapping[str, Tensor]) -> str:
    """The digest of names, types, shapes and bytes, in the byte order of the names.

    Valid when: no name contains a space or a line feed, and every type is one of `DTYPES`.

    Example:
        >>> tensors_digest({"b": torch.tensor([0.0, 1.0]), "w": torch.tensor([[0.5, -2.0]])})[:12]
        'bcaaee5b260b'
    """
    digest = hashlib.sha256(b"pacbound-tensors/2\n")
    for name in sorted(tensors, key=str.encode):
        if " " in name or "\n" in name:
            raise ValueError(f"the tensor's name {name!r} contains a space or a line feed")
        tensor = tensors[name].detach().cpu().contiguous()
        if tensor.dtype not in DTYPES:
            raise ValueError(f"tensor {name} is {tensor.dtype}; digests do not support this type")
        digest.update(f"{name} {DTYPES[tensor.dtype]} {shape_text(tensor.shape)}\n".encode())
        # NumPy has no bfloat16. The tensor is viewed as an integer type of the same size.
        plain = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
        array = plain.numpy()
        digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
    return digest.hexdigest()
