"""ln(dq/dp) against 50 digits, against its mean, and the bound of one draw as a whole."""

from __future__ import annotations

import mpmath
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from pacbound.bounds import maurer
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.bounds.density_ratio import log_density_ratio
from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.prior_grid import index_cost, variance
from pacbound.bounds.rounding import exact, precise


def normal_log_density(square: mpmath.mpf, d: int, spread: mpmath.mpf) -> mpmath.mpf:
    return -mpmath.mpf(d) / 2 * mpmath.log(2 * mpmath.pi * spread) - square / (2 * spread)


positive = st.floats(1e-6, 1e6)


@given(positive, positive, st.floats(-1e6, 1e6), st.integers(1, 10**6), st.floats(1e-8, 10))
def test_it_is_the_difference_of_the_log_densities(
    distance_sq: float, noise_sq: float, log_det: float, d: int, prior_variance: float
) -> None:
    with mpmath.workdps(50):
        w, e, spread = map(mpmath.mpf, (distance_sq, noise_sq, prior_variance))
        log_q = normal_log_density(e, d, mpmath.mpf(1)) - mpmath.mpf(log_det)
        expected = log_q - normal_log_density(w, d, spread)
        with precise():
            enclosed = log_density_ratio(
                arb(distance_sq), arb(noise_sq), arb(log_det), arb(d), arb(prior_variance)
            )
            middle = mpmath.mpf(enclosed.mid().str(40, radius=False))
        assert (
            abs(middle - expected) <= abs(expected) * mpmath.mpf(10) ** -30 + mpmath.mpf(10) ** -28
        )


@given(positive, st.floats(-1e6, 1e6), st.integers(1, 10**6), st.floats(1e-8, 10))
def test_the_kl_is_it_at_the_mean_of_the_noise(
    second_moment: float, log_det: float, d: int, prior_variance: float
) -> None:
    assert gaussian_kl(second_moment, log_det, d, prior_variance) == log_density_ratio(
        second_moment, d, log_det, d, prior_variance
    )


@pytest.mark.parametrize("errors", [0, 1, 3420, 40_000])
@pytest.mark.parametrize("log_det", [-1_355_000.0, -1_352_000.0])
def test_the_bound_of_one_draw_with_fifty_digits(errors: int, log_det: float) -> None:
    """From the primitives to the bound, by mpmath and a root finder of its own."""
    d, distance_sq, noise_sq, index, m, delta = 471_000, 1522.0, 471_321.5, 346, 60_000, "0.035"
    with precise():
        nats = log_density_ratio(
            exact(distance_sq), exact(noise_sq), exact(log_det), d, variance(exact(index))
        ) + index_cost(exact(index))
        complexity = float(maurer.complexity(nats, exact(m), exact(delta)))
    value = bernoulli_kl_inverse(errors / m, complexity)
    with mpmath.workdps(50):
        spread = mpmath.exp(-mpmath.mpf(index) / 100) / 10
        log_q = normal_log_density(mpmath.mpf(noise_sq), d, mpmath.mpf(1)) - mpmath.mpf(log_det)
        ratio = log_q - normal_log_density(mpmath.mpf(distance_sq), d, spread)
        ratio += 2 * mpmath.log(index) + mpmath.log(mpmath.pi**2 / 6)
        right = (ratio + mpmath.log(2 * mpmath.sqrt(m) / mpmath.mpf(delta))) / m
        risk = mpmath.mpf(errors) / m

        def excess(p: mpmath.mpf) -> mpmath.mpf:
            heads = risk * mpmath.log(risk / p) if errors else mpmath.mpf(0)
            return heads + (1 - risk) * mpmath.log((1 - risk) / (1 - p)) - right

        low, high = risk, mpmath.mpf(1)
        for _ in range(170):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) < 0 else (low, middle)
        assert complexity == pytest.approx(float(right), rel=1e-13)
        assert value >= high * (1 - mpmath.mpf(10) ** -12)
        assert value == pytest.approx(float(high), rel=1e-11)
