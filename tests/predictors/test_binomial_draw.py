"""The binomial bound of one draw holds for posteriors from flat to greedy, with mixtures too.

Hypotheses are coins: each errs on every example with probability ½, whatever the sample. The
posterior weighs them by their errors, so that it is as wrong as its greed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import beta

from pacbound.bounds import draw_tail
from pacbound.bounds.codes import certificates_factor
from pacbound.bounds.prior_grid import index_cost

M, HYPOTHESES, DELTA = 100, 2000, 0.2
REPETITIONS = int(os.environ.get("PACBOUND_COVERAGE_DRAWS", "1500"))


def limit(errors: int, level: float) -> float:
    """Clopper and Pearson's, by scipy."""
    return 1.0 if errors >= M else float(beta.ppf(1 - math.exp(-level), errors + 1, M - errors))


def drawn(generator: np.random.Generator, errors: np.ndarray, greed: float) -> tuple[int, float]:
    weights = np.exp(-greed * (errors - errors.min()) / M)
    q = weights / weights.sum()
    chosen = int(generator.choice(len(errors), p=q))
    return chosen, math.log(q[chosen] * len(errors))


@pytest.mark.parametrize("greed", [0, 5, 20, 60, 200, 2000])
def test_coverage(greed: float, record_property: Callable[[str, object], None]) -> None:
    generator = np.random.default_rng(int(greed))
    violated = naive = 0
    for _ in range(REPETITIONS):
        errors = generator.binomial(M, 0.5, HYPOTHESES)
        chosen, ratio = drawn(generator, errors, greed)
        level = math.log(1 / DELTA) + float(draw_tail.nats(ratio))
        violated += limit(int(errors[chosen]), level) < 0.5
        naive += limit(int(errors[chosen]), math.log(1 / DELTA)) < 0.5
    record_property(
        "measured",
        f"binomial draw, greed {greed}: {violated} of {REPETITIONS} violated at δ = {DELTA}; "
        f"{naive} without the density ratio",
    )
    assert violated <= DELTA * REPETITIONS
    assert naive > DELTA * REPETITIONS or greed < 20


@pytest.mark.parametrize("greed", [20, 200])
def test_coverage_with_a_mixture_of_priors(
    greed: float, record_property: Callable[[str, object], None]
) -> None:
    """The prior is chosen after the sample, from a list; its index is paid inside ln D."""
    generator = np.random.default_rng(1)
    violated = 0
    for _ in range(REPETITIONS):
        errors = generator.binomial(M, 0.5, (10, HYPOTHESES // 10))
        prior = int(errors.min(1).argmin())
        chosen, ratio = drawn(generator, errors[prior], greed)
        paid = ratio + float(index_cost(prior + 1))
        level = math.log(1 / DELTA) + float(draw_tail.nats(paid))
        violated += limit(int(errors[prior, chosen]), level) < 0.5
    record_property(
        "measured",
        f"binomial draw from the luckiest of 10 priors, greed {greed}: {violated} of "
        f"{REPETITIONS} violated at δ = {DELTA}",
    )
    assert violated <= DELTA * REPETITIONS


@pytest.mark.parametrize("counted", ["declared", "place"])
def test_the_best_of_many_certificates(
    counted: str, record_property: Callable[[str, object], None]
) -> None:
    """MATH.md 5.3: ten draws, the smallest bound is kept; F divides the share of each."""
    generator = np.random.default_rng(2)
    violated = unpaid = 0
    for _ in range(REPETITIONS):
        errors = generator.binomial(M, 0.5, (10, HYPOTHESES // 10))
        bounds, free = [], []
        for place in range(10):
            chosen, ratio = drawn(generator, errors[place], 5)
            number = 10 if counted == "declared" else place + 1
            factor = float(certificates_factor(counted, number, 1.0))
            level = math.log(factor / DELTA) + float(draw_tail.nats(ratio))
            bounds.append(limit(int(errors[place, chosen]), level))
            free.append(limit(int(errors[place, chosen]), math.log(1 / DELTA)))
        violated += min(bounds) < 0.5
        unpaid += min(free) < 0.5
    record_property(
        "measured",
        f"best of 10 draws, {counted}: {violated} of {REPETITIONS} violated at δ = {DELTA}; "
        f"{unpaid} if each had all of δ",
    )
    assert violated <= DELTA * REPETITIONS
    assert unpaid > DELTA * REPETITIONS
