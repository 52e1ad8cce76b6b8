"""Read tensors from a safetensors file: a JSON header, then the bytes of all tensors."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pacbound.errors import FileError

__all__ = ["read_safetensors"]

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "I64": torch.int64}
SIZE = 8  # bytes of the header's length


def read_safetensors(content: bytes, where: str) -> dict[str, Tensor]:
    """The tensors by name; `where` names the file in errors.

    Valid when: the machine is little-endian, as the format is.
    """
    try:
        begin = SIZE + int.from_bytes(content[:SIZE], "little")
        header = json.loads(content[SIZE:begin])
        return {
            name: _tensor(content, begin, entry)
            for name, entry in header.items()
            if name != "__metadata__"
        }
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise FileError(f"{where} is not a safetensors file: {str(error)[:200]}") from error


def _tensor(content: bytes, begin: int, entry: Mapping[str, Any]) -> Tensor:
    kind, shape = DTYPES[entry["dtype"]], tuple(entry["shape"])
    first, last = entry["data_offsets"]
    if last - first != math.prod(shape) * kind.itemsize or begin + last > len(content):
        raise ValueError("a tensor does not have the size of its bytes")
    # A copy, because the bytes of a file cannot be written to.
    values = torch.frombuffer(bytearray(content[begin + first : begin + last]), dtype=kind)
    return values.view(shape)
