"""Shift networks: the shift of some coordinates as a function of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from pacbound.errors import SettingError
from pacbound.flows.lipschitz import Norm, T, composition
from pacbound.products import full_precision, operands
from pacbound.seeds import Noise, derive

__all__ = ["EVERY", "Shift"]

EVERY = slice(None)
FEW = 4  # coordinates: for so few, one vector at a time is faster than a product
MANY = 192  # coordinates: below this, another number type is not worth it
CHUNK = 1024  # vectors whose hidden units fit into the processor's cache


class Shift(nn.Module):
    """A dense network with tanh between its layers and masked weights; zero at the start.

    The last layer has no bias: a constant shift of the noise is a shift of the posterior's mean.
    tanh has slopes in (0, 1], so the product of the layers' spectral norms is a Lipschitz constant.
    It does not depend on biases.

    Arguments:
        sizes: The numbers of inputs, of units in each hidden layer, and of outputs.
        seed: The seed of the hidden weights.
        masks: For each layer, the weights that may differ from zero; all by default.
        unit: The scale of inputs at which tanh bends: the shift is unit · network(x / unit).

    Example:
        >>> Shift([2, 16, 3], seed="0")(torch.ones(5, 2)).abs().max().item()
        0.0
    """

    def __init__(
        self,
        sizes: Sequence[int],
        seed: str,
        masks: Sequence[Tensor] | None = None,
        unit: float = 1.0,
    ) -> None:
        super().__init__()
        if min(sizes) < 1:
            raise SettingError(f"the layers of a flow need 1 unit or more, not {min(sizes)}")
        noise = Noise(derive("shift network", seed))
        hidden = [noise.normal(m, n) / n**0.5 for n, m in pairwise(sizes[:-1])]
        last = torch.zeros(sizes[-1], sizes[-2])
        self.weights = nn.ParameterList([*hidden, last])
        self.biases = nn.ParameterList(torch.zeros(m) for m in sizes[1:-1])
        self.unit = unit
        self.masked = masks is not None
        for i, mask in enumerate(masks or ()):
            # Masks follow from the settings, so a saved state does not include them.
            self.register_buffer(f"forbidden_{i}", ~mask, persistent=False)

    def weight(self, layer: int) -> Tensor:
        """The effective weight of a layer: masked entries are zero, whatever they hold."""
        weight: Tensor = self.weights[layer]
        if not self.masked:
            return weight
        return weight.masked_fill(self.get_buffer(f"forbidden_{layer}"), 0)

    def forward(self, x: Tensor) -> Tensor:
        with full_precision(x.device):
            x = x / self.unit
            for i, bias in enumerate(self.biases):
                x = linear(x, self.weight(i), bias).tanh()
            return self.unit * linear(x, self.weight(len(self.biases)))

    def added(self, x: Tensor, into: slice, of: slice) -> Tensor:
        """x with the shift, a function of coordinates `of`, added to coordinates `into`.

        Training mode uses a faster way if there is one hidden layer: the same up to rounding, and
        differentiable once.
        """
        if self.training and torch.is_grad_enabled() and len(self.biases) == 1:
            flat = x.reshape(-1, x.shape[-1])
            parameters = self.weight(0) / self.unit, self.biases[0], self.weight(1) * self.unit
            moved: Tensor = _Added.apply(flat, *parameters, into, of)  # type: ignore[no-untyped-call]
            return moved.reshape(x.shape)
        moved = x.clone()
        moved[..., into] += self(x[..., of])
        return moved

    def lipschitz(self, norm: Norm[T]) -> T:
        """The product of the spectral norms of the effective weights."""
        return composition([norm(self.weight(i)) for i in range(len(self.weights))])


class _Added(torch.autograd.Function):
    """y = x; y[into] += V tanh(W x[of] + b), for every row x.

    There are far more hidden units than coordinates. They are computed for a chunk of rows that
    stays in the cache, and again in the backward pass. tanh(a) = 2σ(2a) − 1, and σ is several times
    faster than torch's tanh. Coordinates come first in memory and units last: products with few
    coordinates are several times faster in this layout.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, last: Tensor, into: slice, of: slice
    ) -> Tensor:
        ctx.save_for_backward(x, weight, bias, last)
        ctx.places = into, of
        many = min(last.shape[0], weight.shape[1]) >= MANY
        ctx.dtype = operands(x[:0])[0].dtype if many else x.dtype
        moved = x.clone()
        target = moved.T[into]  # (outputs, rows)
        with full_precision(x.device):
            outer = last.to(ctx.dtype)
            for place, hidden in _Units(x.T[of], weight, bias, ctx.dtype).chunks():
                _accumulate(target[:, place], outer, hidden.T, 2)
            target -= last.sum(1, keepdim=True)
        return moved

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        x, weight, bias, last = ctx.saved_tensors
        into, of = ctx.places
        gradient = gradients[0]
        of_shift = gradient.T[into]  # (outputs, rows)
        above_all = of_shift.to(ctx.dtype)
        of_x = gradient.clone() if ctx.needs_input_grad[0] else None
        units = _Units(x.T[of], weight, bias, ctx.dtype)
        of_units = torch.empty_like(units.values)
        of_first = x.new_zeros(units.inputs.shape[0], len(weight))  # the transposed weight, bias
        of_last = torch.zeros_like(last)
        outer = (2 * last).to(ctx.dtype)
        inner = (2 * weight.T).to(ctx.dtype).contiguous()  # (inputs, units)
        for place, hidden in units.chunks():
            slope, above = of_units[: len(hidden)], above_all[:, place]
            _accumulate(of_last, above, hidden, 2)
            torch.mm(above.T, outer, out=slope)
            torch.ops.aten.sigmoid_backward.grad_input(slope, hidden, grad_input=slope)
            _accumulate(of_first, units.inputs[:, : len(hidden)], slope, 2)
            if of_x is None:
                continue
            if len(inner) <= FEW:
                for row, column in zip(of_x.T[of, place], inner, strict=True):
                    row.addmv_(slope, column)
            else:
                _accumulate(of_x.T[of, place], inner, slope.T, 1)
        of_last -= of_shift.sum(1, keepdim=True)
        return of_x, of_first[:-1].T, of_first[-1], of_last, None, None


def _accumulate(total: Tensor, left: Tensor, right: Tensor, factor: int) -> None:
    """total += factor · left · right, for factors of any type."""
    if left.dtype == total.dtype:
        total.addmm_(left, right, alpha=factor)
    elif total.stride(0) == 1:
        total.T.add_((right.T @ left.T).to(total.dtype), alpha=factor)
    else:
        total.add_((left @ right).to(total.dtype), alpha=factor)


class _Units:
    """σ(2(W x + b)) of the hidden units, chunk by chunk.

    Arguments:
        x: (inputs, rows)
        dtype: The number type of the computation.
    """

    def __init__(self, x: Tensor, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> None:
        self.x = x
        self.rows = x.shape[1]
        width = min(CHUNK, self.rows)
        affine = 2 * torch.cat([weight, bias[:, None]], 1)
        self.affine = affine.T.to(dtype).contiguous()  # (inputs + 1, units)
        # For the current chunk: its inputs with a row of 1, and its units.
        self.inputs = x.new_ones((x.shape[0] + 1, width), dtype=dtype)
        self.values = x.new_empty((width, len(weight)), dtype=dtype)

    def chunks(self) -> Iterator[tuple[slice, Tensor]]:
        """The position of every chunk, and its units. The next chunk overwrites both buffers."""
        for first in range(0, self.rows, CHUNK):
            place = slice(first, min(first + CHUNK, self.rows))
            width = place.stop - first
            self.inputs[:-1, :width] = self.x[:, place]
            hidden = self.values[:width]
            torch.mm(self.inputs[:, :width].T, self.affine, out=hidden)
            yield place, hidden.sigmoid_()
