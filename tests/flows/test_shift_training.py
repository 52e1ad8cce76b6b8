"""The shorter way that training takes through shift networks: the same values and gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from pacbound.flows import Autoregressive, Coupling, Flow
from pacbound.flows.shift import CHUNK
from pacbound.products import products_in
from pacbound.seeds import Noise, derive

FLOWS: dict[str, Callable[[int, float], Flow]] = {
    "iaf": lambda size, unit: Autoregressive(size, [7], "0", unit=unit),
    "iaf, reversed": lambda size, unit: Autoregressive(size, [7], "0", reverse=True, unit=unit),
    "realnvp": lambda size, unit: Coupling(size, [7], "0", unit=unit),
    "realnvp, reversed": lambda size, unit: Coupling(size, [7], "0", reverse=True, unit=unit),
}


def noise(*shape: int) -> Tensor:
    return Noise(derive("shift training", *shape)).normal(*shape, dtype=torch.float64)


def moved(kind: str, size: int, unit: float) -> Flow:
    flow = FLOWS[kind](size, unit).double()
    with torch.no_grad():
        for parameter in flow.parameters():
            parameter.copy_(noise(*parameter.shape) / parameter.shape[-1] ** 0.5)
    return flow


def outcome(flow: Flow, x: Tensor, weights: Tensor) -> list[Tensor]:
    """The map's values, and the gradients of a functional of them by inputs and parameters."""
    x = x.clone().requires_grad_()  # in the layout of x
    values = flow(x)
    gradients = torch.autograd.grad((weights * values.sin()).sum(), [x, *flow.parameters()])
    return [values.detach(), *gradients]


@pytest.mark.parametrize("kind", FLOWS)
@pytest.mark.parametrize("size", [2, 3, 10])
@pytest.mark.parametrize("rows", [1, 5, CHUNK, CHUNK + 1, 2 * CHUNK + 3])
@pytest.mark.parametrize("first", ["rows", "coordinates"])
def test_training_is_the_plain_map(kind: str, size: int, rows: int, first: str) -> None:
    flow = moved(kind, size, unit=0.3)
    x = noise(rows, size) if first == "rows" else noise(size, rows).T
    quick = outcome(flow, x, noise(rows, size))
    plain = outcome(flow.eval(), x, noise(rows, size))
    for one, other in zip(quick, plain, strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-10)


def test_leading_dimensions_are_kept() -> None:
    flow = moved("realnvp", 4, unit=1.0)
    x = noise(2, 3, 4)
    assert torch.allclose(flow(x), flow(x.reshape(6, 4)).reshape(2, 3, 4), rtol=1e-14)


def test_the_unit_is_a_change_of_scale() -> None:
    one, other = moved("realnvp", 4, unit=1.0), moved("realnvp", 4, unit=0.05)
    x = noise(9, 4)
    assert torch.allclose(other(0.05 * x), 0.05 * one(x), rtol=1e-12)
    assert torch.allclose(other.inverse(other(x)), x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_precision(dtype: str) -> None:
    """Against float64: as good as float32; with products in bfloat16 as good as those allow."""
    size, tolerance = 400, {"float32": 1e-4, "bfloat16": 0.05}[dtype]
    exact = outcome(moved("iaf", size, 1.0).eval(), noise(30, size), noise(30, size))
    flow = moved("iaf", size, 1.0).float()
    inputs, weights = noise(30, size).float(), noise(30, size).float()
    with products_in(dtype, inputs.device):
        found = outcome(flow, inputs, weights)
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() <= tolerance * other.norm()


def test_second_derivatives_are_refused() -> None:
    flow = moved("realnvp", 3, unit=1.0)
    x = noise(2, 3).requires_grad_()
    (gradient,) = torch.autograd.grad(flow(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
