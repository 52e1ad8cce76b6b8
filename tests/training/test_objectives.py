"""Objectives: values from the bounds, gradients against finite differences."""

from __future__ import annotations

import pytest
import torch

from pacbound.bounds import catoni, maurer
from pacbound.bounds.bernoulli_kl import bernoulli_kl
from pacbound.errors import PacboundError
from pacbound.training.objectives import OBJECTIVES, CatoniTrained, objective_named

M, DELTA = 60_000, 0.025
POINTS = [(0.01, 100.0), (0.06, 4600.0), (0.3, 20_000.0), (0.6, 500.0)]


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("point", POINTS)
def test_gradients(name: str, point: tuple[float, float]) -> None:
    objective = objective_named(name, M, DELTA).double()
    risk, nats = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in point)
    objective(risk, nats).backward()
    for variable, step in ((risk, 1e-5), (nats, 1e-1)):
        with torch.no_grad():
            moved = [
                objective(
                    *(x + s * step if x is variable else x.clone() for x in (risk, nats))
                ).item()
                for s in (1, -1)
            ]
        assert variable.grad is not None
        assert variable.grad.item() == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-4)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("point", POINTS)
def test_bounds_the_risk_and_grows_with_both(name: str, point: tuple[float, float]) -> None:
    objective = objective_named(name, M, DELTA).double()
    risk, nats = (torch.tensor(x, dtype=torch.float64) for x in point)
    value = objective(risk, nats)
    assert value > risk
    assert objective(risk + 0.01, nats) > value
    assert objective(risk, nats + 10) > value


def test_kl_inverse_inverts() -> None:
    objective = objective_named("kl-inverse", M, DELTA)
    for risk, nats in POINTS:
        p = objective(torch.tensor(risk).double(), torch.tensor(nats).double()).item()
        assert bernoulli_kl(risk, p) == pytest.approx(maurer.complexity(nats, M, DELTA), rel=1e-6)


def test_profiled_beta_is_best() -> None:
    profiled = objective_named("catoni", M, DELTA)
    trained = CatoniTrained(M, DELTA)
    for point in POINTS:
        risk, nats = map(torch.tensor, point)
        best = profiled(risk, nats)
        for log_excess in torch.linspace(-4, 4, 81):
            trained.log_excess.data = log_excess
            assert best <= trained(risk, nats) * (1 + 1e-6)


def test_quadratic_is_tighter_than_pinsker_at_small_risk_only() -> None:
    quadratic, pinsker = (objective_named(name, M, DELTA) for name in ("quadratic", "pinsker"))
    nats = torch.tensor(4600.0)
    assert quadratic(torch.tensor(0.03), nats) < pinsker(torch.tensor(0.03), nats)
    assert quadratic(torch.tensor(0.5), nats) > pinsker(torch.tensor(0.5), nats)


def test_unknown_objective_names_the_nearest() -> None:
    with pytest.raises(PacboundError, match="did you mean 'quadratic'"):
        objective_named("quadratics", M, DELTA)


def test_the_beta_in_use_is_the_one_that_the_objective_has() -> None:
    for risk, nats in POINTS:
        for name in ("catoni", "catoni-trained"):
            objective = objective_named(name, M, DELTA).double()
            beta = objective.beta_at(risk, nats)
            assert beta is not None
            value = objective(*(torch.tensor(x, dtype=torch.float64) for x in (risk, nats)))
            assert value.item() == pytest.approx(catoni.bound(risk, nats, M, DELTA, beta))
        assert objective_named("quadratic", M, DELTA).beta_at(risk, nats) is None
