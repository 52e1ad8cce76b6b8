"""Products of matrices in the type that training asks for: float32, or bfloat16.

bfloat16 has the range of float32 and 8 bits of precision. Processors with such an instruction
multiply matrices of it at twice the speed and add the products up in float32. Everything else,
parameters and KL among it, stays in float32. Plain layers and convolutions follow torch's
autocast by themselves; our own autograd functions ask `operands`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

__all__ = ["ROW", "aligned", "full_precision", "operands", "product", "products_in"]


ROW = 16  # numbers of float32 in 64 bytes


def products_in(name: str, device: torch.device) -> AbstractContextManager[object]:
    """Take products in the type of that name."""
    if name != "bfloat16":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Take plain products in the type of their factors again."""
    return torch.autocast(device.type, enabled=False) if _reduced(device) else nullcontext()


def operands(*factors: Tensor) -> tuple[Tensor, ...]:
    """The factors of products, rounded to the type that is asked for.

    Example:
        >>> ones = torch.ones(2, 2)
        >>> with products_in("bfloat16", ones.device):
        ...     [factor.dtype for factor in operands(ones)]
        [torch.bfloat16]
    """
    device = factors[0].device
    if factors[0].dtype != torch.float32 or not _reduced(device):
        return factors
    dtype = torch.get_autocast_dtype(device.type)
    return tuple(factor.to(dtype) for factor in factors)


def product(left: Tensor, right: Tensor) -> Tensor:
    """left · right for factors from `operands`: computed in their type, returned as float32."""
    with full_precision(left.device):
        result = left @ right
    return result.float() if left.dtype == torch.bfloat16 else result


def aligned(matrix: Tensor) -> Tensor:
    """The same matrix with rows that begin at multiples of 64 bytes.

    As the right factor of a product in float32 a matrix of 785 columns, say, takes half as long
    again as one of 784.
    """
    columns = matrix.shape[1]
    spare = -columns % ROW
    return torch.nn.functional.pad(matrix, (0, spare))[:, :columns] if spare else matrix


def _reduced(device: torch.device) -> bool:
    kind = device.type
    return torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
