"""Newton's method on functions whose minima are known."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pacbound.experiments.simulation.newton import minimise


@dataclass(frozen=True)
class DoubleWell:
    """c (x² − 1)² + y²: minima at x = ±1, a saddle at x = 0."""

    steepness: Tensor

    def part(self, rows: Tensor) -> DoubleWell:
        return DoubleWell(self.steepness[rows])

    def value(self, points: Tensor) -> Tensor:
        x, y = points.unbind(1)
        return self.steepness * (x**2 - 1) ** 2 + y**2

    def derivatives(self, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, y = points.unbind(1)
        gradient = torch.stack([4 * self.steepness * x * (x**2 - 1), 2 * y], dim=1)
        curvature = torch.stack([self.steepness * (12 * x**2 - 4), 2 + 0 * y], dim=1)
        return self.value(points), gradient, torch.diag_embed(curvature)

    def moved(self, points: Tensor, steps: Tensor) -> Tensor:
        return points + steps


def test_minima_are_found_past_the_saddle() -> None:
    wells = DoubleWell(torch.tensor([1.0, 100.0, 0.01, 1.0], dtype=torch.float64))
    start = torch.tensor([[0.01, 3], [-0.2, -5], [40, 0], [-1, 0]], dtype=torch.float64)
    found = minimise(wells, start)
    assert found.converged.all()
    expected = torch.tensor([[1, 0], [-1, 0], [1, 0], [-1, 0]], dtype=torch.float64)
    torch.testing.assert_close(found.points, expected, atol=1e-4, rtol=0)
    assert (found.values < 1e-9).all()


def test_a_saddle_is_not_taken_for_a_minimum() -> None:
    wells = DoubleWell(torch.ones(2, dtype=torch.float64))
    found = minimise(wells, torch.tensor([[0, 2], [0.5, 2]], dtype=torch.float64))
    assert found.converged.tolist() == [False, True]
    assert found.points[0].tolist() == [0, 0]
