"""Laws that every inequality obeys, and each formula against 50 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import torch
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from pacbound.bounds import catoni, maurer, mcallester, pinsker, quadratic
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.bounds.inequality import Given
from pacbound.bounds.prior_grid import index_cost
from pacbound.bounds.rounding import precise
from pacbound.certificate.format import Prior
from pacbound.predictors.gibbs import GIBBS

BETA = 1.375

CLOSED: dict[str, Callable[..., Any]] = {
    "pinsker": pinsker.bound,
    "quadratic": quadratic.bound,
    # the trade-off in the arithmetic of the other arguments
    "catoni": lambda risk, nats, m, delta: catoni.bound(risk, nats, m, delta, BETA + 0 * m),
}
INVERTED: dict[str, Callable[..., Any]] = {
    "mcallester": mcallester.complexity,
    "maurer": maurer.complexity,
}
BOUNDS = CLOSED | {
    name: lambda risk, nats, m, delta, complexity=complexity: bernoulli_kl_inverse(
        risk, complexity(nats, m, delta)
    )
    for name, complexity in INVERTED.items()
}


def oracle(name: str, risk: Any, nats: Any, m: Any, delta: Any) -> Any:
    """The formulas once more, as they stand in the literature."""
    risk, nats, m, delta = map(mpmath.mpf, (risk, nats, m, delta))
    if name == "mcallester":
        return (nats + mpmath.log(m / delta)) / (m - 1)
    if name == "maurer":
        return (nats + mpmath.log(2 * mpmath.sqrt(m) / delta)) / m
    if name == "pinsker":
        return risk + mpmath.sqrt((nats + mpmath.log(m / delta)) / (2 * (m - 1)))
    if name == "quadratic":
        r = (nats + mpmath.log(2 * mpmath.sqrt(m) / delta)) / (2 * m)
        return (mpmath.sqrt(risk + r) + mpmath.sqrt(r)) ** 2
    beta = mpmath.mpf(BETA)
    return 1 / (1 - 1 / (2 * beta)) * (risk + beta / m * (nats + mpmath.log(1 / delta)))


risks = st.floats(0, 0.99)
nats_ = st.floats(0, 1e5)
sizes = st.integers(8, 10**7)
deltas = st.floats(1e-6, 0.5)


@pytest.mark.parametrize("name", BOUNDS)
@given(risk=risks, nats=nats_, m=sizes, delta=deltas)
def test_a_bound_is_above_the_risk_and_monotone(
    name: str, risk: float, nats: float, m: int, delta: float
) -> None:
    bound = BOUNDS[name]
    value = bound(risk, nats, m, delta)
    assert value >= risk
    slack = 1 - 1e-12
    assert bound(risk, nats * 1.1 + 1, m, delta) >= value * slack
    assert bound((risk + 1) / 2, nats, m, delta) >= value * slack
    assert bound(risk, nats, m, delta / 2) >= value * slack


@pytest.mark.parametrize("name", [*CLOSED, *INVERTED])
@given(risk=risks, nats=nats_, m=sizes, delta=deltas)
def test_float_tensor_and_interval_agree_with_fifty_digits(
    name: str, risk: float, nats: float, m: int, delta: float
) -> None:
    arguments = (risk, nats, m, delta) if name in CLOSED else (nats, m, delta)
    formula = (CLOSED | INVERTED)[name]
    with mpmath.workdps(50):
        exact = oracle(name, risk, nats, m, delta)
        with precise():
            interval = formula(*map(arb, arguments))
            rounding = mpmath.nstr(exact * mpmath.mpf(10) ** -40, 5)
            assert interval.overlaps(arb(mpmath.nstr(exact, 45), rounding))
            assert interval.rad() < 1e-60 * interval
    tensor = formula(*(torch.tensor(x, dtype=torch.float64) for x in arguments))
    assert formula(*arguments) == pytest.approx(float(exact), rel=1e-12)
    assert tensor.item() == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_form_is_differentiable(name: str) -> None:
    def bound(risk: torch.Tensor, nats: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = CLOSED[name](risk, nats, 60000, 0.025)
        return value

    inputs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (0.05, 4000.0)]
    assert torch.autograd.gradcheck(bound, inputs)


@given(risk=risks, nats=nats_, m=sizes, delta=deltas)
def test_which_bound_is_tighter(risk: float, nats: float, m: int, delta: float) -> None:
    value = {name: bound(risk, nats, m, delta) for name, bound in BOUNDS.items()}
    slack = 1 + 1e-12
    assert maurer.complexity(nats, m, delta) <= mcallester.complexity(nats, m, delta)
    assert value["maurer"] <= value["mcallester"] <= max(value["pinsker"], 0) * slack
    assert value["maurer"] <= value["quadratic"] * slack


@given(risk=risks, nats=nats_, m=sizes, delta=deltas)
def test_the_default_of_gibbs_certificates_is_never_worse(
    risk: float, nats: float, m: int, delta: float
) -> None:
    """With a validation part Catoni's is the default, whose λ is fixed before the counts."""
    known = GIBBS.inequalities
    figures = Given(
        risk=risk, m=m, delta=delta, divergence=nats, code=0.0, ledger=0.0, validation=(0, 0)
    )
    default = known[GIBBS.rule(Prior(kind="initialised"))].value(figures)
    for name in ("mcallester", "maurer"):
        assert default <= known[name].value(figures) * (1 + 1e-9), name


@given(risk=st.floats(1e-4, 0.99), nats=st.floats(0.1, 1e5), m=sizes, delta=deltas)
def test_profiled_beta_is_the_best_of_a_fine_grid(
    risk: float, nats: float, m: int, delta: float
) -> None:
    best = catoni.bound(risk, nats, m, delta, catoni.best_beta(risk, nats, m, delta))
    betas = [0.5 + 10 ** (step / 50) for step in range(-150, 200)]
    assert all(best <= catoni.bound(risk, nats, m, delta, beta) * (1 + 1e-12) for beta in betas)


@given(risk=st.floats(0, 0.99), nats=st.floats(10, 1e5), m=st.integers(100, 10**5), delta=deltas)
def test_catoni_on_its_grid_is_the_best_index_and_paid_for(
    risk: float, nats: float, m: int, delta: float
) -> None:
    def paid(k: int) -> float:
        value: float = catoni.bound(risk, nats + index_cost(k), m, delta, catoni.grid_beta(k))
        return value

    best = paid(catoni.best_index(risk, nats, m, delta))
    assert best <= min(paid(k) for k in range(1, 2000)) * (1 + 1e-12)
    assert best >= catoni.bound(risk, nats, m, delta, catoni.best_beta(risk, nats, m, delta))


def test_beta_grid_is_above_one_half() -> None:
    assert catoni.grid_beta(1) == pytest.approx(0.55)
    assert math.isclose(catoni.grid_beta(30), 2.0)
