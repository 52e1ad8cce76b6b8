"""No measured slope exceeds the certified Lipschitz constant, and the measure has power."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import pytest
import torch
from flow_cases import CASES, Case, jacobians, points
from hypothesis import given
from hypothesis import strategies as st

from pacbound.flows import (
    Autoregressive,
    Chain,
    Coupling,
    EstimatedNorm,
    Flow,
    Triangular,
    build,
    certified_norm,
    lipschitz,
)


def jacobian_slope(flow: Flow) -> float:
    """The largest ‖∂g/∂x‖₂ at many points."""
    x = torch.cat([torch.zeros(1, flow.size, dtype=torch.float64), points(flow.size, 300)])
    return float(torch.linalg.matrix_norm(jacobians(flow, x), 2).max().detach())


def difference_slope(flow: Flow) -> float:
    """The largest ‖g(x) − g(y)‖ / ‖x − y‖ over many pairs, near and far."""
    x = points(flow.size, 600)
    near = x + 1e-4 * x.flip(0)
    return max(
        float(((flow(x) - flow(y)).norm(dim=1) / (x - y).norm(dim=1)).max().detach())
        for y in (near, x.roll(1, 0), -x)
    )


def ascended_slope(flow: Flow, steps: int = 60) -> float:
    """‖∂g/∂x‖₂ after a climb to where it is large."""
    x = points(flow.size, 8).requires_grad_()
    optimizer = torch.optim.Adam([x], lr=0.1)
    best = 0.0
    for _ in range(steps):
        slopes = torch.linalg.matrix_norm(jacobians(flow, x), 2)
        best = max(best, float(slopes.max().detach()))
        optimizer.zero_grad()
        (-slopes.sum()).backward()
        optimizer.step()
    return best


def assert_bounds_slopes(flow: Flow) -> None:
    """The law: the constant is no lower than any slope (up to the measurement's own rounding)."""
    constant = flow.lipschitz(certified_norm)
    assert isinstance(constant, float)
    assert jacobian_slope(flow) <= constant * (1 + 1e-12)
    assert difference_slope(flow) <= constant * (1 + 1e-9)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_measured_slope_exceeds_the_constant(case: Case) -> None:
    assert_bounds_slopes(case.moved())


@pytest.mark.parametrize("kind", ["iaf", "realnvp"])
def test_no_slope_found_by_ascent_exceeds_the_constant(kind: str) -> None:
    flow = Case(kind, lambda: build(kind, 5, [6], 2, True, "0"), weights=2).moved()
    climbed = ascended_slope(flow)
    assert jacobian_slope(flow) < climbed <= flow.lipschitz(certified_norm)


def aligned(flow: Autoregressive | Coupling, strength: float) -> Autoregressive | Coupling:
    """A path of one unit per layer from the first coordinate to the last: σ = `strength`.

    At zero, where tanh is steepest, such a shift has the slope that its norms promise.
    """
    flow = flow.double()
    layers = len(flow.shift.weights)
    with torch.no_grad():
        seen = 0
        for i, weight in enumerate(flow.shift.weights):
            unit = -1 if i == layers - 1 else len(weight) // 2
            weight.fill_(0)
            weight[unit, seen] = strength ** (1 / layers)
            seen = unit
    return flow


TIGHT: dict[str, Callable[[], Flow]] = {
    "autoregressive": lambda: aligned(Autoregressive(4, [8], "0"), 9.0),
    "autoregressive, two layers": lambda: aligned(Autoregressive(4, [8, 8], "0"), 9.0),
    "autoregressive, linear": lambda: aligned(Autoregressive(4, [], "0"), 9.0),
    "coupling": lambda: aligned(Coupling(4, [8], "0"), 9.0),
    "coupling, linear": lambda: aligned(Coupling(5, [], "0"), 0.7),
    "triangular": lambda: Case("tight", lambda: Triangular(6), weights=2).moved(),
    "chain": lambda: Chain(4, [Triangular(4).double(), aligned(Coupling(4, [8], "0"), 3.0)]),
}


@pytest.mark.parametrize("name", TIGHT)
def test_half_the_constant_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = TIGHT[name]()
    assert_bounds_slopes(flow)
    whole = flow.lipschitz
    monkeypatch.setattr(flow, "lipschitz", lambda norm: whole(norm) / 2)
    with pytest.raises(AssertionError):
        assert_bounds_slopes(flow)


def test_ascent_finds_where_a_constant_is_nearly_reached() -> None:
    flow = aligned(Autoregressive(4, [8], "0"), 9.0)
    with torch.no_grad():
        flow.shift.biases[0].fill_(2.0)  # steepest where the unit's input is −2
    constant = flow.lipschitz(certified_norm)
    assert 0.9 * constant < ascended_slope(flow) <= constant


def test_the_coupling_constant_is_reached() -> None:
    flow = aligned(Coupling(4, [], "0"), 1.7)
    constant = flow.lipschitz(certified_norm)
    assert constant == pytest.approx((1.7 + math.sqrt(1.7**2 + 4)) / 2, rel=1e-9)
    assert jacobian_slope(flow) == pytest.approx(constant, rel=1e-9)


def test_the_triangular_constant_is_the_norm() -> None:
    flow = Case("norm", lambda: Triangular(6), weights=2).moved()
    assert jacobian_slope(flow) == pytest.approx(flow.lipschitz(certified_norm), rel=1e-9)


def test_what_a_mask_hides_does_not_count() -> None:
    flow = Autoregressive(3, [4], "0")
    with torch.no_grad():
        flow.shift.weights[1].fill_(1e6).masked_fill_(flow.shift.forbidden_1.logical_not(), 0.1)
    assert flow.lipschitz(certified_norm) < 3


SIZES = st.floats(0, 1e300)


@given(SIZES)
def test_floats_are_rounded_outward(sigma: float) -> None:
    with mpmath.workdps(50):
        exact = (mpmath.mpf(sigma) + mpmath.sqrt(mpmath.mpf(sigma) ** 2 + 4)) / 2
        assert mpmath.mpf(lipschitz.coupling(sigma)) >= exact
        assert mpmath.mpf(lipschitz.autoregressive(sigma)) >= 1 + mpmath.mpf(sigma)
    if sigma < 1e150:
        assert lipschitz.coupling(sigma) <= float(exact) * (1 + 1e-14)


@given(st.lists(SIZES, min_size=1, max_size=5))
def test_products_of_floats_are_rounded_outward(constants: list[float]) -> None:
    with mpmath.workdps(90):
        exact = mpmath.fprod(mpmath.mpf(constant) for constant in constants)
        assert mpmath.mpf(lipschitz.composition(constants)) >= exact


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tensors_follow_the_same_formula(case: Case) -> None:
    flow = case.moved()
    exact = flow.lipschitz(lambda matrix: torch.linalg.matrix_norm(matrix, 2)).detach()
    assert float(exact) == pytest.approx(flow.lipschitz(certified_norm), rel=1e-9)
    estimate = EstimatedNorm(first=300).of(flow.lipschitz).detach()
    assert float(estimate) == pytest.approx(float(exact), rel=1e-2)
