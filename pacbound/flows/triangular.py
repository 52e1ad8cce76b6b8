"""Triangular: a linear map with a unit lower triangular matrix, at half the cost of a full one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from pacbound.flows.base import Flow
from pacbound.flows.lipschitz import Norm, T
from pacbound.products import ROW, full_precision, operands

__all__ = ["Triangular"]

SMALLEST_BLOCK = 96  # below this, several small products are slower than a larger one
DENSE = 2 * SMALLEST_BLOCK  # below this there is one block, and a plain product is as fast


class Triangular(Flow):
    """x ↦ L x with L lower triangular and ones on its diagonal.

    Only the entries below the diagonal are parameters. `below` is zero elsewhere and stays so,
    because its gradient is zero there too.

    Example:
        >>> Triangular(3)(torch.tensor([1.0, 2.0, 3.0])).tolist()
        [1.0, 2.0, 3.0]
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.below = nn.Parameter(torch.zeros(size, size))

    def matrix(self) -> Tensor:
        """L."""
        identity = torch.eye(self.size, dtype=self.below.dtype, device=self.below.device)
        return self.below.tril(-1) + identity

    def forward(self, x: Tensor) -> Tensor:
        if self.size < DENSE:
            with full_precision(x.device):
                return x @ self.matrix().T
        rows = x.reshape(-1, self.size)  # row by row x Lᵀ
        product: Tensor = _Left.apply(rows, self.below)  # type: ignore[no-untyped-call]
        return product.reshape(x.shape)

    def transposed(self, x: Tensor) -> Tensor:
        """Lᵀ x; for a large map, in the number type of products."""
        if self.size < DENSE:
            with full_precision(x.device):
                return x @ self.matrix()
        rows = x.reshape(-1, self.size)  # row by row x L
        product: Tensor = _Right.apply(rows, self.below)  # type: ignore[no-untyped-call]
        return product.reshape(x.shape)

    def inverse(self, y: Tensor) -> Tensor:
        rows = y.reshape(-1, self.size)
        solved: Tensor = torch.linalg.solve_triangular(
            self.matrix().T, rows, upper=True, left=False, unitriangular=True
        )
        return solved.reshape(y.shape)

    def lipschitz(self, norm: Norm[T]) -> T:
        return norm(self.matrix())

    def column_squares(self, rows: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """Σ_i L_ij² for every column j.

        Arguments:
            rows: Selects the rows i along the first dimension of a tensor; by default all.
        """
        if self.size < DENSE:
            matrix = self.matrix()
            return (rows(matrix) if rows else matrix).square().sum(0)
        below = rows(self.below) if rows else self.below
        squares: Tensor = _ColumnSquares.apply(below)  # type: ignore[no-untyped-call]
        if rows is None:
            return 1 + squares
        diagonal = torch.zeros_like(squares)
        diagonal[rows(torch.arange(self.size, device=below.device))] = 1
        return diagonal + squares

    def is_triangular(self) -> bool:
        """Whether all entries on and above the diagonal are zero."""
        return not self.below.triu().any()


def _blocks(n: int) -> Iterator[slice]:
    """A few blocks of about the same size, aligned to 64 bytes."""
    count = max(1, min(4, n // SMALLEST_BLOCK))
    edges = [min(n, round(n * i / count / ROW) * ROW) for i in range(count)] + [n]
    for first, last in pairwise(edges):
        yield slice(first, last)


class _Right(torch.autograd.Function):
    """x ↦ x + x·below, block column by block column."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, below: Tensor) -> Tensor:
        factors = operands(rows, below)
        ctx.save_for_backward(*factors)
        ctx.dtype = rows.dtype
        return _plus_times(factors[0], *factors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor]:
        (gradient,) = gradients
        rows, below = ctx.saved_tensors
        of_rows = None
        if ctx.needs_input_grad[0]:
            of_rows = _plus_times_transposed(gradient, gradient, below).to(ctx.dtype)
        return of_rows, _outer_below(rows, gradient, ctx.dtype)


class _Left(torch.autograd.Function):
    """x ↦ x + x·belowᵀ, block row by block row."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, below: Tensor) -> Tensor:
        factors = operands(rows, below)
        ctx.save_for_backward(*factors)
        return _plus_times_transposed(rows, *factors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor]:
        rows, below = ctx.saved_tensors
        gradient = gradients[0].to(rows.dtype)
        of_rows = _plus_times(gradients[0], gradient, below) if ctx.needs_input_grad[0] else None
        return of_rows, _outer_below(gradient, rows, gradients[0].dtype)


class _ColumnSquares(torch.autograd.Function):
    """The sum of squares of every column, with its gradient in one pass over the matrix."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        ctx.save_for_backward(matrix)
        return matrix.square().sum(0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (matrix,) = ctx.saved_tensors
        gradient: Tensor = matrix * (2 * gradients[0])
        return gradient


def _plus_times(base: Tensor, rows: Tensor, below: Tensor) -> Tensor:
    """base + rows·below; both factors may have a shorter type than `base`, which is kept."""
    total = torch.empty_like(base)
    for block in _blocks(rows.shape[1]):
        under = slice(block.start, None)
        _plus_product(base[:, block], rows[:, under], below[under, block], total[:, block])
    return total


def _plus_times_transposed(base: Tensor, rows: Tensor, below: Tensor) -> Tensor:
    """base + rows·belowᵀ."""
    total = torch.empty_like(base)
    for block in _blocks(rows.shape[1]):
        before = slice(0, block.stop)
        _plus_product(base[:, block], rows[:, before], below[block, before].T, total[:, block])
    return total


def _plus_product(base: Tensor, left: Tensor, right: Tensor, out: Tensor) -> None:
    if left.dtype == base.dtype:
        torch.addmm(base, left, right, out=out)
        return
    if out.stride(0) == 1:  # columns first in memory: compute the product in that layout
        base, left, right, out = base.T, right.T, left.T, out.T
    out.copy_(left @ right)  # mixing two types in one operation is far slower
    out.add_(base)


def _outer_below(left: Tensor, right: Tensor, dtype: torch.dtype) -> Tensor:
    """The part of leftᵀ·right below the diagonal."""
    n = left.shape[1]
    outer = left.new_empty((n, n), dtype=dtype)
    for block in _blocks(n):
        under = slice(block.start, None)
        outer[: block.start, block] = 0
        if left.dtype == dtype:
            torch.mm(left[:, under].T, right[:, block], out=outer[under, block])
        else:
            outer[under, block] = left[:, under].T @ right[:, block]
        outer[block, block].tril_(-1)
    return outer
