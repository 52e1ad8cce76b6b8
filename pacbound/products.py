"""Matrix products in the number type of the training: float32 or bfloat16.

bfloat16 has the range of float32 and 8 bits of precision. Processors with bfloat16 instructions
multiply such matrices at twice the speed and accumulate in float32. Everything else, including
parameters and KL, stays in float32. Plain layers and convolutions follow torch's autocast. Our
own autograd functions call `operands`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

__all__ = ["ROW", "aligned", "full_precision", "operands", "product", "products_in"]


ROW = 16  # float32 numbers in 64 bytes


def products_in(name: str, device: torch.device) -> AbstractContextManager[object]:
    """Compute products in the type of this name."""
    if name != "bfloat16":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Compute plain products in the type of their factors again."""
    return torch.autocast(device.type, enabled=False) if _reduced(device) else nullcontext()


def operands(*factors: Tensor) -> tuple[Tensor, ...]:
    """The factors of products, rounded to the type in use.

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
    """The same matrix, with each row aligned to 64 bytes.

    As the right factor of a float32 product, a matrix with 785 columns takes half as long again as
    one with 784.
    """
    columns = matrix.shape[1]
    spare = -columns % ROW
    return torch.nn.functional.pad(matrix, (0, spare))[:, :columns] if spare else matrix


def _reduced(device: torch.device) -> bool:
    kind = device.type
    return torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
