"""Lipschitz constants of shift-only maps, written once for floats and tensors.

Floats are rounded up, so upper bounds of the arguments give an upper bound of the result: every
formula here is increasing in its arguments. Tensors use the same formulas and carry gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias, TypeVar

from torch import Tensor

from pacbound.bounds.arithmetic import sqrt

__all__ = ["Norm", "T", "autoregressive", "composition", "coupling"]

T = TypeVar("T", float, Tensor)

# A function that computes the spectral norm of a matrix.
Norm: TypeAlias = Callable[[Tensor], T]


def composition(constants: Sequence[T]) -> T:
    """Lip of a composition of at least one map: the product of their constants.

    Example:
        >>> 6 < composition([2.0, 3.0]) < 6 + 1e-9
        True
    """
    return reduce(lambda one, other: _outward(one * other), constants)


def coupling(shift: T) -> T:
    """Lip of (a, b) ↦ (a, b + t(a)) when Lip(t) ≤ `shift` = σ: (σ + √(σ² + 4)) / 2.

    The Jacobian [[I, 0], [T, I]] splits by the singular vectors of T into blocks
    [[1, 0], [s, 1]] with s ≤ σ, whose norm is (s + √(s² + 4)) / 2. A mean value inequality
    along the segment from one point to another gives the same constant for the map.
    """
    root: T = sqrt(shift * shift + 4)
    return _outward((shift + root) / 2)


def autoregressive(shift: T) -> T:
    """Lip of x ↦ x + t(x) when Lip(t) ≤ `shift`."""
    return _outward(1 + shift)


def _outward(value: T) -> T:
    """A float not below the exact value; a tensor unchanged.

    Each formula above has at most five operations on non-negative numbers, without cancellation:
    a relative error below 5·2⁻⁵³·(1 + tiny), which 2⁻⁵⁰ exceeds. The last step covers a product
    that underflows. ∞·0, where ∞ stands for a number too large for a float, is returned as ∞.
    """
    if isinstance(value, Tensor):
        return value
    return math.inf if math.isnan(value) else math.nextafter(value * (1 + 2**-50), math.inf)
