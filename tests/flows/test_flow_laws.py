"""What holds for every flow."""

from __future__ import annotations

import math

import pytest
import torch
from flow_cases import CASES, Case, jacobians, points

from pacbound.errors import PacboundError
from pacbound.flows import Flow, certified_norm


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    chosen: Case = request.param
    return chosen


@pytest.fixture
def flow(case: Case) -> Flow:
    return case.moved()


def test_a_new_flow_is_the_identity(case: Case) -> None:
    flow = case.new()
    x = points(flow.size, 20)
    assert torch.equal(flow(x), x)
    assert torch.equal(flow.inverse(x), x)
    assert 1 <= flow.lipschitz(certified_norm) < 1 + 1e-9


def test_the_inverse_undoes_the_flow(flow: Flow) -> None:
    x = points(flow.size, 20)
    torch.testing.assert_close(flow.inverse(flow(x)), x, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(flow(flow.inverse(x)), x, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 1, 3), (0,)])
def test_it_acts_on_the_last_dimension_of_any_shape(flow: Flow, shape: tuple[int, ...]) -> None:
    count = math.prod(shape)
    x = points(flow.size, 12)[:count].reshape(*shape, flow.size)
    y = flow(x)
    assert y.shape == flow.inverse(y).shape == x.shape
    for i in range(count):
        one = flow(x.reshape(count, flow.size)[i])
        torch.testing.assert_close(y.reshape(count, flow.size)[i], one)


def test_it_does_not_change_its_input(flow: Flow) -> None:
    x = points(flow.size, 3)
    before = x.clone()
    flow.inverse(flow(x))
    assert torch.equal(x, before)


def test_volume_is_preserved(flow: Flow) -> None:
    sign, log_det = torch.linalg.slogdet(jacobians(flow, points(flow.size, 20)))
    torch.testing.assert_close(sign, torch.ones_like(sign))
    torch.testing.assert_close(log_det, torch.zeros_like(log_det), rtol=0, atol=1e-7)


def test_the_state_is_all_that_differs_between_two_flows_of_one_make(case: Case) -> None:
    flow, other = case.moved(), case.new()
    state = flow.state_dict()
    assert set(state) == {name for name, _ in flow.named_parameters()}
    other.load_state_dict(state)
    x = points(flow.size, 5)
    assert torch.equal(other(x), flow(x))
    assert other.lipschitz(certified_norm) == flow.lipschitz(certified_norm)


def test_the_start_depends_on_the_seed_alone(case: Case) -> None:
    torch.manual_seed(1)
    first = case.new().state_dict()
    torch.manual_seed(2)
    second = case.new().state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_gradients_reach_every_parameter(flow: Flow) -> None:
    if flow.size == 1:
        pytest.skip("nothing to learn: at most an empty triangle")
    flow(points(flow.size, 50)).square().sum().backward()
    for name, parameter in flow.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


def test_single_precision_agrees(flow: Flow) -> None:
    x = points(flow.size, 10)
    exact = flow(x)
    allowed = 1e-5 * flow.lipschitz(certified_norm) * (1 + x.norm(dim=1).max())
    assert (flow.float()(x.float()).double() - exact).norm(dim=1).max() < allowed


def test_weights_that_are_not_finite_have_no_constant(case: Case) -> None:
    flow = case.moved()
    with torch.no_grad():
        for parameter in flow.parameters():
            parameter.fill_(math.nan)
    if flow.size == 1:
        assert flow.lipschitz(certified_norm) == 1  # nothing unmasked
    else:
        with pytest.raises(PacboundError, match="not finite"):
            flow.lipschitz(certified_norm)
