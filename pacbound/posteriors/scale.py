"""Scales parameterised by their logarithms, with gradients in one pass over memory."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["scaled", "variance"]


def scaled(log_scale: Tensor, standard_normal: Tensor) -> Tensor:
    """S∘E for S = exp(log_scale), for one E or for several along leading dimensions."""
    noise: Tensor = _Scaled.apply(log_scale, standard_normal)  # type: ignore[no-untyped-call]
    return noise


def variance(log_scale: Tensor) -> Tensor:
    """S²."""
    squares: Tensor = _Variance.apply(log_scale)  # type: ignore[no-untyped-call]
    return squares


class _Scaled(torch.autograd.Function):
    """The derivative of exp(s)·e by s is exp(s)·e itself, so only the output is kept."""

    @staticmethod
    def forward(ctx: Any, log_scale: Tensor, normal: Tensor) -> Tensor:
        scale = log_scale.exp()
        noise = scale.mul_(normal) if normal.dim() == scale.dim() else scale * normal
        ctx.save_for_backward(noise, log_scale if ctx.needs_input_grad[1] else None)
        ctx.extra = normal.dim() - log_scale.dim()
        return noise

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        noise, log_scale = ctx.saved_tensors
        by_log_scale = by_normal = None
        if ctx.needs_input_grad[0]:
            by_log_scale = gradients[0] * noise
            if ctx.extra:
                by_log_scale = by_log_scale.sum(tuple(range(ctx.extra)))
        if ctx.needs_input_grad[1]:
            by_normal = gradients[0] * log_scale.exp()
        return by_log_scale, by_normal


class _Variance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, log_scale: Tensor) -> Tensor:
        scale = log_scale.exp()
        squares = scale.mul_(scale)
        ctx.save_for_backward(squares)
        return squares

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (squares,) = ctx.saved_tensors
        gradient: Tensor = gradients[0] * squares
        return gradient.mul_(2)
