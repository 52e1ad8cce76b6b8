"""The SHA-256 digests of named tensors, as defined in SPEC.md, and of whole modules."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from pacbound.data.digests import shape_text

__all__ = ["module_digest", "tensors_digest"]

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


def module_digest(module: nn.Module) -> str:
    """The digest of a module's layers, their options, and every parameter and buffer.

    It does not cover the code of `forward`, nor plain attributes that `extra_repr` does not show.

    Example:
        >>> same = [nn.Linear(2, 1), nn.Linear(2, 1)]
        >>> same[1].load_state_dict(same[0].state_dict())
        <All keys matched successfully>
        >>> module_digest(same[0]) == module_digest(same[1])
        True
    """
    tensors = dict([*module.named_parameters(), *module.named_buffers()])
    text = f"pacbound-module/1\n{module!r}\n{tensors_digest(tensors)}\n"
    return hashlib.sha256(text.encode()).hexdigest()
