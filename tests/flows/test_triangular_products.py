"""Block products with unit triangles against dense ones, values and gradients."""

from __future__ import annotations

import pytest
import torch

from pacbound.flows import Triangular
from pacbound.posteriors import KLinear

SIZES = [2, 3, 95, 191, 192, 200, 289, 500]


def random_triangle(size: int) -> Triangular:
    triangle = Triangular(size).double()
    with torch.no_grad():
        triangle.below.copy_(torch.randn(size, size, dtype=torch.float64).tril(-1))
    return triangle


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("side", ["forward", "transposed"])
def test_products_and_gradients_are_the_dense_ones(size: int, side: str) -> None:
    torch.manual_seed(size)
    triangle = random_triangle(size)
    rows = torch.randn(7, size, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(7, size, dtype=torch.float64)

    product = getattr(triangle, side)(rows)
    (product * weights).sum().backward()
    found = rows.grad, triangle.below.grad

    rows.grad = None
    free = triangle.below.detach().clone().requires_grad_()
    dense = free.tril(-1) + torch.eye(size, dtype=torch.float64)
    expected = rows @ (dense.T if side == "forward" else dense)
    (expected * weights).sum().backward()
    torch.testing.assert_close(product, expected)
    torch.testing.assert_close(found, (rows.grad, free.grad))


def test_column_squares() -> None:
    triangle = random_triangle(6)
    torch.testing.assert_close(triangle.column_squares(), triangle.matrix().square().sum(0))


def test_training_never_fills_the_upper_half() -> None:
    torch.manual_seed(0)
    posterior = KLinear(torch.zeros(200, 150), 0.1)
    optimizer = torch.optim.Adam(posterior.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        noise = posterior.local_noise(torch.randn(5, 150), torch.randn(5, 200))
        (noise.square().sum() + posterior.trace()).backward()
        optimizer.step()
    assert posterior.flaw() is None
    for triangle in posterior.triangles.values():
        assert triangle.below.abs().max() > 0


def test_an_entry_above_the_diagonal_is_a_flaw() -> None:
    posterior = KLinear(torch.zeros(3, 4), 0.1)
    posterior.triangles["1"].below.data[0, 2] = 0.5
    assert "not a unit lower triangle" in str(posterior.flaw())
