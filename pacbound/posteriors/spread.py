"""The noise of a dense layer's outputs, with its gradient written out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["local_spread"]


def local_spread(inputs: Tensor, weight_variance: Tensor, standard_normal: Tensor) -> Tensor:
    """√(x² V) ∘ ε for every row x: the law of x(W − M)ᵀ for independent entries of variance V.

    Arguments:
        inputs: (batch, in)
        weight_variance: (out, in)
        standard_normal: (batch, out)
    """
    spread: Tensor = _LocalSpread.apply(inputs, weight_variance, standard_normal)  # type: ignore[no-untyped-call]
    return spread


class _LocalSpread(torch.autograd.Function):
    """Fewer passes over memory than automatic differentiation, and finite where x² V = 0."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, variance: Tensor, normal: Tensor) -> Tensor:
        squares = inputs.square()
        deviation = (squares @ variance.T).sqrt_()  # (batch, out)
        ctx.save_for_backward(inputs, squares, variance, deviation, normal)
        return deviation * normal

    @staticmethod
    def backward(
        ctx: Any, *gradients: Tensor
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        inputs, squares, variance, deviation, normal = ctx.saved_tensors
        by_inputs = by_variance = by_normal = None
        by_square = gradients[0] * normal
        by_square.div_(2 * deviation)
        if not torch.isfinite(by_square.sum()):
            by_square.masked_fill_(deviation == 0, 0.0)  # inputs of zero: no noise, no slope
        if ctx.needs_input_grad[0]:
            by_inputs = (by_square @ variance).mul_(inputs).mul_(2)
        if ctx.needs_input_grad[1]:
            by_variance = by_square.T @ squares
        if ctx.needs_input_grad[2]:
            by_normal = gradients[0] * deviation
        return by_inputs, by_variance, by_normal
