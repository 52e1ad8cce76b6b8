"""Estimated norms converge to the norms, with their gradients, and remember where they were."""

from __future__ import annotations

import io

import pytest
import torch
from torch import Tensor

from pacbound.flows import EstimatedNorm, build
from pacbound.seeds import Noise, derive


def random(rows: int, columns: int) -> Tensor:
    return Noise(derive("estimate test", rows, columns)).normal(rows, columns, dtype=torch.float64)


def estimate_of(estimate: EstimatedNorm, matrix: Tensor) -> Tensor:
    return estimate.of(lambda norm: norm(matrix))


@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (9, 4), (4, 9)])
def test_it_converges_to_the_norm_and_its_gradient(shape: tuple[int, int]) -> None:
    matrix = random(*shape).requires_grad_()
    value = estimate_of(EstimatedNorm(first=500), matrix)
    value.backward()
    left, singular, right = torch.linalg.svd(matrix.detach())
    torch.testing.assert_close(value.detach(), singular[0])
    torch.testing.assert_close(matrix.grad, torch.outer(left[:, 0], right[0]))


def test_one_iteration_a_step_follows_a_moving_matrix() -> None:
    estimate, matrix, drift = EstimatedNorm(), random(20, 30), random(30, 20).T
    for step in range(200):
        moving = matrix + 0.005 * min(step, 100) * drift
        value = estimate_of(estimate, moving)
    assert float(value) == pytest.approx(float(torch.linalg.matrix_norm(moving, 2)), rel=1e-3)


def test_it_is_never_above_the_norm() -> None:
    matrix = random(12, 12)
    norm = float(torch.linalg.matrix_norm(matrix, 2))
    estimate = EstimatedNorm(first=1)
    values = [float(estimate_of(estimate, matrix)) for _ in range(30)]
    assert values == sorted(values)
    assert values[-1] <= norm * (1 + 1e-12)


def test_a_zero_matrix_is_survived() -> None:
    estimate = EstimatedNorm()
    zero = torch.zeros(3, 4, requires_grad=True)
    value = estimate_of(estimate, zero)
    value.backward()
    assert value == 0
    assert torch.isfinite(zero.grad).all()
    tiny = 1e-12 * random(3, 4).float()
    values = [float(estimate_of(estimate, tiny)) for _ in range(100)]
    assert values[-1] == pytest.approx(float(torch.linalg.matrix_norm(tiny, 2)), rel=1e-4)


def test_training_resumes_exactly() -> None:
    flow = build("iaf", 5, [8], 2, True, "0")
    with torch.no_grad():
        for weight in (p for p in flow.parameters() if p.dim() == 2):
            weight.copy_(random(*weight.shape))
    first = EstimatedNorm(first=2)
    first.of(flow.lipschitz)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = EstimatedNorm(first=2)
    second.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(first.of(flow.lipschitz), second.of(flow.lipschitz))


def test_it_cannot_stand_in_for_a_norm() -> None:
    assert not callable(EstimatedNorm())
