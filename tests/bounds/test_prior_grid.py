"""The prior's grid, the price of an index, and the KL to a prior on the grid."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.prior_grid import B, C, best_index, index_cost, index_of, variance
from pacbound.bounds.rounding import exact, precise


@pytest.mark.parametrize("index", [1, 2, 371, 5000])
def test_variance_for_float_tensor_and_interval(index: int) -> None:
    with mpmath.workdps(50), precise():
        expected = mpmath.mpf(1) / 10 * mpmath.exp(-mpmath.mpf(index) / 100)
        interval = variance(exact(index))
        rounding = mpmath.nstr(expected * mpmath.mpf(10) ** -40, 5)
        assert interval.overlaps(arb(mpmath.nstr(expected, 45), rounding))
        assert interval.rad() < 1e-60
    assert variance(index) == pytest.approx(float(expected), rel=1e-15)
    assert variance(torch.tensor(float(index), dtype=torch.float64)).item() == pytest.approx(
        float(expected)
    )
    assert index_of(variance(index)) == pytest.approx(index, rel=1e-12)
    assert (B, C) == (100, 0.1)


def test_weights_of_all_indices_add_up_to_at_most_one() -> None:
    total = sum(math.exp(-index_cost(k)) for k in range(1, 100_000))
    assert 0.9999 < total < 1


def test_index_cost_in_every_arithmetic() -> None:
    for k in (1, 7, 371):
        expected = math.log(math.pi**2 * k**2 / 6)
        assert index_cost(k) == pytest.approx(expected)
        assert index_cost(torch.tensor(float(k))).item() == pytest.approx(expected)
        with precise():
            cost = index_cost(exact(k))
            assert cost.rad() < 1e-60
            assert float(cost) == pytest.approx(expected)


@pytest.mark.parametrize("index", [0, -1, 0.5, torch.tensor(0.0), arb(0)])
def test_an_index_below_one_is_refused(index: object) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        index_cost(index)


@given(st.floats(1e-9, 100), st.integers(1, 10**6))
def test_best_index_against_all_indices(mean_square: float, d: int) -> None:
    second_moment = mean_square * d

    def objective(j: int) -> float:
        return gaussian_kl(second_moment, 0.0, d, variance(j)) + 2 * math.log(j)

    best = best_index(second_moment, d)
    assert best >= 1
    smallest = min(objective(j) for j in range(1, 2500))
    assert objective(best) <= smallest + 1e-12 * abs(smallest)


def test_few_weights_prefer_the_cheapest_index() -> None:
    # One weight gains little from a fitted variance and pays 2 ln j for it.
    assert best_index(0.05, 1) == 1


@pytest.mark.parametrize("second_moment", [0.0, -1.0, math.nan, math.inf])
def test_no_variance_fits_a_broken_moment(second_moment: float) -> None:
    with pytest.raises(ValueError, match="second moment"):
        best_index(second_moment, 10)


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(0.01, 3)), min_size=1, max_size=8),
    st.floats(0.01, 4),
)
def test_kl_against_a_diagonal_gaussian(
    entries: list[tuple[float, float]], prior_variance: float
) -> None:
    mean, scale = torch.tensor(entries, dtype=torch.float64).unbind(1)
    reference = torch.distributions.kl_divergence(
        torch.distributions.Normal(mean, scale),
        torch.distributions.Normal(torch.zeros_like(mean), math.sqrt(prior_variance)),
    ).sum()
    second_moment = (mean**2).sum() + (scale**2).sum()
    log_det = scale.log().sum()
    found = gaussian_kl(second_moment, log_det, len(entries), prior_variance)
    assert found.item() == pytest.approx(reference.item(), rel=1e-9, abs=1e-9)


def test_kl_is_zero_at_the_prior_and_never_clamped() -> None:
    assert gaussian_kl(5 * 0.25, 5 * math.log(0.5), 5, 0.25) == pytest.approx(0, abs=1e-12)
    # Such a determinant does not go with such a moment: the result must show it.
    assert gaussian_kl(1.25, 0.0, 5, 0.25) < 0
