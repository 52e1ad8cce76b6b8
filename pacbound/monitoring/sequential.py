"""Evidence against a claimed risk that may be read at any time, and a lower limit of the risk.

Outcomes X_1, X_2, … in [0, 1] arrive one by one, and a claim says that their mean is at most b. A
gambler who doubts it starts with the wealth 1, and stakes a fraction r of it on every outcome. Its
wealth after t outcomes is

    M_t(r) = Π_{i ≤ t} (1 − r + r·X_i/b),   0 < r < 1,

which is Π(1 + λ(X_i − b)) with λ = r/b < 1/b. The gambler divides the first wealth equally among
K fractions that are fixed by b alone.

Bets lose while the claim holds, so after years of good outcomes little would be left to notice a
change with. Therefore the gambler bets only FIRST = 0.8 of the wealth at the start. The rest is
kept, and the part w_j = 0.2 · 6/(π²j²) of it is bet in the same way from outcome j·n on, for
j = 1, 2, …, with n = `period(b)`. With w_0 = 0.8 the whole wealth is

    M_t = Σ_j w_j · (1/K) Σ_k Π_{j·n < i ≤ t} (1 − r_k + r_k·X_i/b),

where products over nothing are 1. An alarm at M_t ≥ 1/α is false with probability at most α.

Proof. Let the claim hold: E[X_t | past] ≤ b for every t. Every factor is at least 1 − r > 0, and
E[1 − r + r·X_t/b | past] ≤ 1. So each product is a non-negative supermartingale that is 1 until its
start, and so is their weighted mean, as the weights w_j add up to 1. By Ville's inequality
P(M_t ≥ 1/α for some t) ≤ α: at any time, however often one looks, for any rule of stopping
(J. Ville 1939; I. Waudby-Smith and A. Ramdas, "Estimating Means of Bounded Random Variables by
Betting", 2024). ∎

A claim about a class or a group bets on the outcomes of its members alone. Other outcomes leave the
wealth as it is, a factor of 1. A member's factor has a conditional mean of at most 1, given the
past and that it is a member, because the claim is about the mean given membership. So the proof
holds unchanged.

Lower limit. Let the whole wealth be bet at the start. With p in the place of b, every factor falls
as p grows, so this wealth falls. Let L_t be the supremum of the p at which it is at least 1/α. If
the risk is μ and L_t > μ, then the wealth at μ is at least 1/α, which happens at some t with
probability at most α. So P(L_t ≤ μ for all t) ≥ 1 − α.

Rounding is on the safe side. A loss may be rounded down, because factors grow with X. ln M_t(r_k)
is a sum of whole multiples of `UNIT`, each rounded down: the sum is exact, and does not depend on
where a stream was interrupted. What is shown is at most the exact wealth, so the proof holds for it
too.

Valid when: outcomes are in [0, 1] and unselected: which inputs get a label does not depend on
whether the prediction was wrong. Independent outcomes of the certified distribution suffice.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MOST_OUTCOMES",
    "SCALE",
    "UNIT",
    "Counts",
    "first_start",
    "fractions",
    "increments",
    "log_evidence",
    "log_needed",
    "log_wealth",
    "lower_limit",
    "period",
    "started",
]

SCALE = 10_000  # losses are whole numbers of 1/SCALE
UNIT = 2.0**-30  # nats
MOST_OUTCOMES = 10**8  # then no sum leaves 63 bits: 10⁸ outcomes of at most 24 nats each
EXCESS = 2.0 ** np.arange(-6, 3.5, 0.5)  # relative excess of the risk that a fraction is best for
LARGEST = 0.5  # fraction of the wealth
FIRST = 0.8  # the part of the wealth that is bet at the start
LEAST = 1e-10  # the smallest positive rate of the format

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Counts: TypeAlias = dict[int, int]  # how often each loss occurred, in units of 1/SCALE


def fractions(bound: float) -> Floats:
    """The fractions r of the wealth for a claim, (K,).

    If the risk is (1 + e)·b, then the fraction e·b/(1 − b) lets the wealth grow fastest, for losses
    that are 0 or 1. The excesses e reach from 1/64 to 8.
    """
    if not 0 < bound < 1:
        raise ValueError(f"a bound of {bound} cannot be bet against")
    return np.unique(np.minimum(EXCESS * bound / (1 - bound), LARGEST))


def _log_factors(losses: Integers, p: float, stakes: Floats) -> Floats:
    """ln(1 − r + r·X/p) for every loss and fraction, (V, K)."""
    return np.log1p(stakes * (losses[:, None] / SCALE / p - 1))


def increments(losses: Integers, bound: float) -> Integers:
    """The growth of the logarithmic wealth by each loss, in units, rounded down; (V, K)."""
    exact = _log_factors(losses, bound, fractions(bound)) / UNIT
    # Each logarithm is right to 10⁻¹⁴, which is far below a thousandth of a unit.
    return np.floor(exact - 1e-3).astype(np.int64)


def period(bound: float) -> int:
    """The number of outcomes between two starts: a few errors' worth at the bound."""
    return max(100, math.ceil(10 / bound))


def started(growth: Integers, first: int, before: Floats) -> Floats:
    """ln Σ_j w_j/M_k, with M_k the wealth at start j, after each of some starts, (n, K).

    Arguments:
        growth: ln M_k at these starts, in units, (n, K).
        first: The number of the first of them.
        before: The sums before them, (K,).
    """
    numbers = np.arange(first, first + len(growth))
    with np.errstate(divide="ignore"):
        weights = np.where(numbers == 0, FIRST, (1 - FIRST) * 6 / (math.pi * numbers) ** 2)
    terms = np.log(weights)[:, None] - growth * UNIT
    sums: Floats = np.logaddexp.accumulate(np.concatenate([before[None], terms]), 0)[1:]
    return sums


def log_wealth(growth: Integers, past: Floats, starts: Integers) -> Floats:
    """ln M, at most its exact value.

    Arguments:
        growth: ln M_k in units, (n, K).
        past: The sums of `started`, (n, K).
        starts: How many starts there were, (n,).
    """
    logs = growth * UNIT + past
    # Σ 1/j² from n on is above 1/n + 1/(2n²): what is kept for later starts.
    kept = np.log((1 - FIRST) * 6 / math.pi**2 * (1 / starts + 0.5 / starts**2))
    # Float64 errs by 10⁻¹⁵ of the largest term, once more for every start.
    error = 1e-9 + (1e-12 + 1e-15 * starts) * np.abs(past).max(-1)
    error += 1e-12 * np.abs(growth).max(-1) * UNIT
    found: Floats = np.logaddexp(_log_mean(logs), kept) - error
    return found


def _log_mean(logs: Floats) -> Floats:
    most = logs.max(-1, keepdims=True)
    mean: Floats = np.log(np.exp(logs - most).mean(-1)) + most[..., 0]
    return mean


def log_needed(share: float) -> float:
    """ln(1/α), not below its exact value."""
    return -math.log(share) * (1 + 1e-14)


def first_start(bound: float) -> Floats:
    """The sum of `started` after the first start alone, (K,)."""
    return np.full(len(fractions(bound)), math.log(FIRST))


def log_evidence(counts: Counts, bound: float, past: Floats | None = None) -> float:
    """ln M after outcomes with these losses, rounded down; 0 before the first.

    Arguments:
        past: The last sums of `started`; by default, that of the first start alone.
    """
    if not counts:
        return 0.0
    growth = increments(np.array(list(counts), np.int64), bound)
    times = np.array(list(counts.values()), np.int64)
    starts = np.array([1]) if past is None else np.array([times.sum() // period(bound) + 1])
    sums = first_start(bound) if past is None else past
    return float(log_wealth((times @ growth)[None], sums[None], starts)[0])


def lower_limit(counts: Counts, bound: float, share: float) -> Decimal:
    """A rate that the risk exceeds at all times with probability 1 − share; 10 decimals.

    Arguments:
        bound: The claim, which fixes the fractions.
    """
    losses, stakes = np.array(list(counts), np.int64), fractions(bound)
    times = np.array(list(counts.values()), np.float64)
    total = float(times @ losses)
    if not total:
        return Decimal("0.0000000000")

    def refuted(p: float) -> bool:
        terms = times[:, None] * _log_factors(losses, p, stakes)
        logs = terms.sum(0) - 1e-12 * np.abs(terms).sum(0) - 1e-9
        return bool(_log_mean(logs) >= log_needed(share))

    # At the mean of the outcomes no bet has won anything: ln(1 + x) ≤ x.
    low, high = LEAST, min(total / SCALE / float(times.sum()), 1.0)
    if not refuted(low):
        return Decimal("0.0000000000")
    while high - low > 1e-11 and high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return Decimal(low).quantize(Decimal("1e-10"), ROUND_FLOOR)
