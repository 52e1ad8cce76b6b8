"""Tails of a sampled second moment: the formulas, their laws, their coverage, and a misprint."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pacbound.bounds import gaussian_tail, theorem3
from pacbound.bounds.rounding import precise

# Both tails over the same arguments: mean square, Lipschitz constant, offset, d, samples, δ.
TAILS: dict[str, Callable[..., Any]] = {
    "gaussian": lambda square, lipschitz, offset, d, samples, delta: (
        gaussian_tail.second_moment_limit(square, lipschitz, samples, delta)
    ),
    "theorem3": lambda square, lipschitz, offset, d, samples, delta: theorem3.second_moment_limit(
        square, lipschitz, d, offset, samples, delta
    ),
}


def oracle(name: str, *arguments: float) -> Any:
    """The formulas once more, in the notation of MATH.md: h with ½‖h‖², not ‖W − Θ0‖²."""
    square, lipschitz, offset, d, samples, delta = map(mpmath.mpf, arguments)
    level = mpmath.log(1 / delta)
    if name == "gaussian":
        return (mpmath.sqrt(square) + lipschitz * mpmath.sqrt(2 * level / samples)) ** 2 + (
            lipschitz**2 / samples
        )
    slope, start = lipschitz / mpmath.sqrt(2), offset / mpmath.sqrt(2)
    mean = (slope * mpmath.sqrt(d) + start) / mpmath.sqrt(mpmath.log(2))
    c = (mpmath.sqrt(6) * slope + mean) ** 2
    epsilon = c * (level + mpmath.sqrt(level**2 + 8 * samples * level)) / samples
    assert mpmath.almosteq(  # Bernstein's exponent at this ε is ln δ
        samples * epsilon**2 / (2 * (4 * c**2 + c * epsilon)), level, rel_eps=mpmath.mpf(10) ** -40
    )
    return 2 * (square / 2 + epsilon)


squares = st.floats(1e-6, 1e6)
constants = st.floats(1e-6, 100)
offsets = st.floats(0, 100)
dimensions = st.integers(1, 10**7)
samples_ = st.integers(1, 10**6)
deltas = st.floats(1e-9, 0.9)
arguments_ = st.tuples(squares, constants, offsets, dimensions, samples_, deltas)


@pytest.mark.parametrize("name", TAILS)
@given(arguments=arguments_)
def test_float_tensor_and_interval_agree_with_fifty_digits(
    name: str, arguments: tuple[float, ...]
) -> None:
    square, lipschitz, offset, d, samples, delta = arguments
    with mpmath.workdps(50):
        expected = oracle(name, *arguments)
        with precise():
            interval = TAILS[name](arb(square), arb(lipschitz), arb(offset), d, samples, arb(delta))
            rounding = mpmath.nstr(expected * mpmath.mpf(10) ** -40, 5)
            assert interval.overlaps(arb(mpmath.nstr(expected, 45), rounding))
            assert interval.rad() < 1e-60 * interval
    tensors = (torch.tensor(x, dtype=torch.float64) for x in (square, lipschitz, offset))
    assert TAILS[name](*arguments) == pytest.approx(float(expected), rel=1e-12)
    assert TAILS[name](*tensors, d, samples, delta).item() == pytest.approx(
        float(expected), rel=1e-12
    )


@pytest.mark.parametrize("name", TAILS)
@given(arguments=arguments_)
def test_a_limit_is_above_the_mean_and_monotone(name: str, arguments: tuple[float, ...]) -> None:
    square, lipschitz, offset, d, samples, delta = arguments
    limit = TAILS[name](*arguments)
    assert limit > square * (1 - 1e-12)
    for worse in (
        (square * 1.1, lipschitz, offset, d, samples, delta),
        (square, lipschitz * 1.1, offset, d, samples, delta),
        (square, lipschitz, offset + 1, d + 1, samples, delta),
        (square, lipschitz, offset, d, samples, delta / 2),
    ):
        assert TAILS[name](*worse) >= limit * (1 - 1e-12)
    more = (square, lipschitz, offset, d, 2 * samples, delta)
    assert TAILS[name](*more) <= limit * (1 + 1e-12)


@pytest.mark.parametrize("name", TAILS)
@given(arguments=arguments_, unit=st.floats(0.01, 100))
def test_a_limit_has_the_unit_of_a_square(
    name: str, arguments: tuple[float, ...], unit: float
) -> None:
    square, lipschitz, offset, *rest = arguments
    scaled = TAILS[name](square * unit**2, lipschitz * unit, offset * unit, *rest)
    assert scaled == pytest.approx(TAILS[name](*arguments) * unit**2, rel=1e-9)


@pytest.mark.parametrize("name", TAILS)
def test_a_limit_is_a_penalty_to_train_on(name: str) -> None:
    inputs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (900.0, 1.3, 20.0)]
    assert torch.autograd.gradcheck(lambda *x: TAILS[name](*x, 1000, 100, 0.005), inputs)


def test_the_figures_of_the_source_for_a_large_network() -> None:
    d = 476_000
    nats = {name: (tail(d, 1, 0, d, 10_000, 0.005) - d) / 2 for name, tail in TAILS.items()}
    assert nats["gaussian"] == pytest.approx(22.46, abs=0.01)
    assert nats["theorem3"] > 900 * nats["gaussian"]


# Coverage: maps of standard normals, with their exact E‖W − Θ0‖², Lipschitz constant and W(0) − Θ0


Map = Callable[[NDArray[Any]], NDArray[Any]]


def linear(rows: list[list[float]], mean: list[float]) -> tuple[Map, float, float, list[float]]:
    matrix, center = np.array(rows), np.array(mean)
    moment = float(np.square(matrix).sum() + np.square(center).sum())
    return lambda x: x @ matrix.T + center, moment, float(np.linalg.norm(matrix, 2)), mean


def shifted(slope: float) -> tuple[Map, float, float, list[float]]:
    """(a, b) ↦ (a, b + slope·tanh(a) + 2): a coupling, with its moment by quadrature."""
    points, weights = np.polynomial.hermite_e.hermegauss(150)
    tanh_square = float(weights @ np.tanh(points) ** 2 / weights.sum())
    moment = 1 + (1 + slope**2 * tanh_square + 4)  # tanh has no mean
    lipschitz = (slope + math.sqrt(slope**2 + 4)) / 2

    def flow(x: NDArray[Any]) -> NDArray[Any]:
        a, b = x[..., 0], x[..., 1]
        return np.stack([a, b + slope * np.tanh(a) + 2], -1)

    return flow, moment, lipschitz, [0.0, 2.0]


MAPS = {
    "far off": linear([[1.0]], [30.0]),
    "centred": linear([[0.5]], [0.0]),
    "dense": linear([[1.0, 0.0, 0.0], [0.7, 0.5, 0.0], [-0.4, 0.2, 0.1]], [0.3, -0.1, 0.2]),
    "anisotropic": linear([[3.0, 0.0], [0.0, 0.01]], [0.0, 1.0]),
    "coupling": shifted(1.5),
}
DELTA = 0.1


def covered(name: str, tail: str, samples: int, factor: float = 1.0) -> float:
    """The part of 1000 repetitions in which the limit, with L times `factor`, is not too low."""
    flow, moment, lipschitz, start = MAPS[name]
    noise = np.random.default_rng(0).standard_normal((1000, samples, len(start)))
    mean_squares = np.square(flow(noise)).sum(-1).mean(-1)
    offset = math.hypot(*start)
    limits = [
        TAILS[tail](float(square), factor * lipschitz, offset, len(start), samples, DELTA)
        for square in mean_squares
    ]
    return float(np.mean(np.array(limits) >= moment))


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("samples", [1, 5, 50])
def test_the_limit_holds_as_often_as_it_says(name: str, tail: str, samples: int) -> None:
    assert covered(name, tail, samples) >= 1 - DELTA


def test_the_simulation_can_fail() -> None:
    # ‖W‖ is then nearly normal: the limit is as tight as a normal tail, so half of L is too little.
    assert covered("far off", "gaussian", 50, factor=0.5) < 1 - DELTA


# Why the constant is printed wrong. With L = Lip(h)/√2 the paper's Lemma 2 says that a variable X
# with P(|X| > t) ≤ 2 exp(−t²/(2L²)) has ‖X‖ = inf{t: E exp(X²/t²) ≤ 2} ≤ 6L². A norm doubles with
# X, and so with L, while 6L² becomes four times as large: for small L it cannot hold.


def orlicz(moment: Callable[[Any], Any], guess: float) -> float:
    """The t at which E exp(X²/t²) = 2, for X given by its E exp(X²/t²)."""
    return float(mpmath.findroot(lambda t: moment(t) - 2, guess))


def test_the_lemmas_own_proof_gives_the_root_and_not_the_square() -> None:
    """1 + 2Σ(2cL²)ᵖ = 2 at c = 1/(6L²); c = 1/t², so t = √6·L, more than 6L² for L < 1/√6."""
    for lipschitz in (0.01, 0.4, 1.0, 5.0):
        t = math.sqrt(6) * lipschitz
        ratio = 2 * lipschitz**2 / t**2
        assert 1 + 2 * ratio / (1 - ratio) == pytest.approx(2)
        assert (6 * lipschitz**2 < t) == (lipschitz < 1 / math.sqrt(6))


def test_the_printed_lemma_is_false_for_the_heaviest_tail_it_allows() -> None:
    """P(|X| > t) = min(1, 2 exp(−t²/(2L²))): X² = 2L²(ln 2 + an exponential variable).

    E exp(X²/t²) = 2ᵃ/(1 − a), a = 2L²/t², is 2 at a = 0.3587…, so ‖X‖ = 2.361…·L: below √6·L, as
    it must be, and above 6L² exactly when L < 0.3935…
    """
    norm = orlicz(lambda t: 2 ** (2 / t**2) / (1 - 2 / t**2), 2.4)  # at L = 1
    assert norm == pytest.approx(2.3612, abs=1e-3)
    assert norm < math.sqrt(6)
    assert norm / 6 == pytest.approx(0.3935, abs=1e-3)


def test_the_printed_lemma_is_false_for_a_normal_variable() -> None:
    """E exp(X²/t²) = (1 − 2L²/t²)^(−½) for X normal of deviation L, so ‖X‖ = L√(8/3).

    Above 6L² exactly when L < √(8/3)/6 = 0.272…; no L-Lipschitz function of normals has a larger
    norm about its mean (it is distributed as an L-Lipschitz increasing function of one normal,
    which is below L times that normal in the convex order), so from there on the printed value
    is true of what Theorem 3 applies it to, though its proof shows so only from 1/√6 = 0.408… on.
    """
    norm = orlicz(lambda t: (1 - 2 / t**2) ** -0.5, 1.7)
    assert norm == pytest.approx(math.sqrt(8 / 3))
    threshold = math.sqrt(8 / 3) / 6
    assert threshold == pytest.approx(0.27217, abs=1e-5)
    for lipschitz in (0.01, 0.1, threshold * 0.999):
        assert 6 * lipschitz**2 < norm * lipschitz
    assert 6 * (threshold * 1.001) ** 2 > norm * threshold * 1.001


def test_the_printed_constant_of_the_theorem_is_too_small_and_ours_is_not() -> None:
    """h(ε) = √2·Lε in one dimension: g = |Lε| has the norm L√(8/3), and its square must be ≤ C.

    The printed C = (6L² + L/√ln 2)² is smaller exactly when L < (√(8/3) − 1/√ln 2)/6 = 0.0719…:
    E exp(g²/C) is then above 2, or infinite. Ours is not, for any L.
    """
    threshold = (math.sqrt(8 / 3) - 1 / math.sqrt(math.log(2))) / 6
    assert threshold == pytest.approx(0.0720, abs=1e-4)
    for lipschitz in (1e-3, 0.05, threshold * 0.999, threshold * 1.001, 0.2, 3.0):
        norm_square = 8 / 3 * lipschitz**2
        printed = (6 * lipschitz**2 + lipschitz / math.sqrt(math.log(2))) ** 2
        assert (printed < norm_square) == (lipschitz < threshold)
        assert theorem3.constant(math.sqrt(2) * lipschitz, 1, 0.0) > norm_square


@pytest.mark.parametrize("name", MAPS)
def test_the_constant_bounds_the_exponential_moment(name: str) -> None:
    """E exp(g²/C) ≤ 2 for g = ‖W − Θ0‖/√2, by simulation: what the proof needs of C."""
    flow, _, lipschitz, start = MAPS[name]
    noise = np.random.default_rng(1).standard_normal((100_000, len(start)))
    square = np.square(flow(noise)).sum(-1) / 2
    c = theorem3.constant(lipschitz, len(start), math.hypot(*start))
    assert np.exp(square / c).mean() <= 2
