"""Elementary functions for floats, tensors and intervals alike."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

__all__ = ["Real", "exp", "log", "log1p", "pi", "sqrt", "whole"]

# A real number: int, float, scalar torch.Tensor or flint.arb. Each formula is written once for
# all of them. No protocol describes them to a type checker, hence Any.
Real: TypeAlias = Any


def log(x: Real) -> Real:
    return x.log() if hasattr(x, "log") else math.log(x)


def log1p(x: Real) -> Real:
    return x.log1p() if hasattr(x, "log1p") else math.log1p(x)


def sqrt(x: Real) -> Real:
    return x.sqrt() if hasattr(x, "sqrt") else math.sqrt(x)


def exp(x: Real) -> Real:
    return x.exp() if hasattr(x, "exp") else math.exp(x)


def pi(like: Real) -> Real:
    """π in the arithmetic of `like`: an enclosure for an interval, otherwise the nearest float."""
    return type(like).pi() if hasattr(type(like), "pi") else math.pi


def whole(number: int, like: Real) -> Real:
    """A whole number in the arithmetic of `like`, so that its roots and logarithms are enclosed."""
    return type(like)(number) if hasattr(type(like), "pi") else number
