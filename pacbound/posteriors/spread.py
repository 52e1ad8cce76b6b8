"""The standard deviation of a dense layer's outputs, with an explicit gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pacbound.products import aligned, operands, product

__all__ = ["local_deviation"]


def local_deviation(inputs: Tensor, weight_variance: Tensor) -> Tensor:
    """√(x² V) for every row x: the deviations of x(W − M)ᵀ for independent entries of variance V.

    Arguments:
        inputs: (batch, in)
        weight_variance: (out, in)
    """
    deviation: Tensor = _LocalDeviation.apply(inputs, weight_variance)  # type: ignore[no-untyped-call]
    return deviation


class _LocalDeviation(torch.autograd.Function):
    """Uses fewer passes over memory than autograd, and is finite where x² V = 0."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, variance: Tensor) -> Tensor:
        (squares,) = operands(inputs.square())
        factor = variance.to(squares.dtype)
        deviation = product(squares, factor.T).sqrt_()  # (batch, out)
        ctx.save_for_backward(inputs, squares, factor, deviation)
        return deviation

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        inputs, squares, variance, deviation = ctx.saved_tensors
        by_inputs = by_variance = None
        by_square = gradients[0] / (2 * deviation)
        if not torch.isfinite(by_square.sum()):
            by_square.masked_fill_(deviation == 0, 0.0)  # zero inputs: no noise, no slope
        by_square = by_square.to(squares.dtype)
        if ctx.needs_input_grad[0]:
            by_inputs = (by_square @ aligned(variance)).to(inputs.dtype).mul_(inputs).mul_(2)
        if ctx.needs_input_grad[1]:
            by_variance = product(by_square.T, squares)
        return by_inputs, by_variance
