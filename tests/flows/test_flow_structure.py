"""Which coordinate moves which: autoregressive masks, couplings, and what `build` puts together."""

from __future__ import annotations

import pytest
import torch
from flow_cases import Case, jacobians, points
from zuko.nn import MaskedMLP

from pacbound.errors import PacboundError
from pacbound.flows import Autoregressive, Coupling, Flow, Triangular, build
from pacbound.flows.autoregressive import masks


def moved(
    make: type[Autoregressive] | type[Coupling], size: int, hidden: list[int], **how: bool
) -> Flow:
    return Case("structure", lambda: make(size, hidden, "0", **how), weights=2).moved()


def dependencies(layers: list[torch.Tensor]) -> torch.Tensor:
    """Which output can depend on which input through masked layers; (outputs, inputs)."""
    product = torch.eye(layers[0].shape[1], dtype=torch.int64)
    for layer in layers:
        product = layer.long() @ product
    return product > 0


@pytest.mark.parametrize("size", [2, 3, 7, 10])
@pytest.mark.parametrize("hidden", [[], [1], [4], [50], [7, 7], [20, 3, 20]])
@pytest.mark.parametrize("reverse", [False, True])
def test_autoregressive_jacobians_are_unit_triangles(
    size: int, hidden: list[int], reverse: bool
) -> None:
    jacobian = jacobians(moved(Autoregressive, size, hidden, reverse=reverse), points(size, 10))
    if reverse:
        jacobian = jacobian.transpose(1, 2)
    assert torch.equal(jacobian.triu(1), torch.zeros_like(jacobian))
    assert torch.equal(jacobian.diagonal(dim1=1, dim2=2), torch.ones(10, size).double())


@pytest.mark.parametrize("hidden", [[], [6], [12, 6], [40]])
def test_wide_enough_masks_let_through_all_that_a_strict_triangle_may(hidden: list[int]) -> None:
    everything = torch.ones(7, 7).tril(-1) > 0
    assert torch.equal(dependencies(masks(7, hidden, reverse=False)), everything)
    assert torch.equal(dependencies(masks(7, hidden, reverse=True)), everything.T)


def test_masks_depend_on_the_same_coordinates_as_those_of_zuko() -> None:
    peer = MaskedMLP(torch.ones(7, 7).tril(-1) > 0, hidden_features=(24, 24))
    theirs = [layer.mask for layer in peer if hasattr(layer, "mask")]
    assert torch.equal(dependencies(theirs), dependencies(masks(7, [24, 24], reverse=False)))


def test_the_parallel_forward_agrees_with_one_coordinate_at_a_time() -> None:
    flow = moved(Autoregressive, 6, [9])
    (x,) = points(6, 1, scale=1000)
    weights = [flow.shift.weight(i) for i in range(2)]  # dense, as masked
    expected = x.clone()
    for i in range(6):
        before = torch.where(torch.arange(6) < i, x, torch.full_like(x, 123.0))
        hidden = torch.tanh(weights[0] @ before + flow.shift.biases[0])
        expected[i] += (weights[1] @ hidden)[i]
    torch.testing.assert_close(flow(x), expected)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_coupling_moves_one_half_by_the_other(reverse: bool) -> None:
    flow = moved(Coupling, 7, [9], reverse=reverse)
    x = points(7, 20)
    stays = torch.arange(7) % 2 == (1 if reverse else 0)
    assert torch.equal(flow(x)[:, stays], x[:, stays])
    shift = jacobians(flow, x) - torch.eye(7)
    assert (shift[:, ~stays][:, :, stays] != 0).all()
    assert torch.equal(shift[:, :, ~stays], torch.zeros_like(shift[:, :, ~stays]))


@pytest.mark.parametrize("kind", ["iaf", "realnvp"])
def test_three_steps_let_every_coordinate_move_every_other(kind: str) -> None:
    flow = Case("all to all", lambda: build(kind, 4, [16], 3, False, "0"), weights=2).moved()
    slopes = jacobians(flow, points(4, 30)).abs().amax(0)
    assert (slopes > 1e-6).all()


@pytest.mark.parametrize("kind", ["iaf", "realnvp"])
def test_size_one_costs_nothing(kind: str) -> None:
    assert list(build(kind, 1, [16], 3, True, "0").parameters()) == []


def test_linear_alone_is_a_triangle() -> None:
    (step,) = build("iaf", 3, [16], 0, True, "0").flows()
    assert isinstance(step, Triangular)


def test_steps_and_seeds_differ() -> None:
    first, second = build("iaf", 3, [16], 2, False, "0").flows()
    other, _ = build("iaf", 3, [16], 2, False, "1").flows()
    weights = [flow.shift.weights[0] for flow in (first, second, other)]
    assert not torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "realnpv"}, "did you mean 'realnvp'"),
        ({"kind": "realnpv", "size": 1}, "did you mean 'realnvp'"),
        ({"steps": -1}, "0 steps or more, not -1"),
        ({"hidden": [4, 0]}, "1 unit or more, not 0"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    good: dict[str, object] = {
        "kind": "iaf",
        "size": 3,
        "hidden": [4],
        "steps": 1,
        "linear": True,
        "seed": "0",
    }
    with pytest.raises(PacboundError, match=message):
        build(**{**good, **settings})  # type: ignore[arg-type]
