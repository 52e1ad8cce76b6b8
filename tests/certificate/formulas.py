"""The formulas of SPEC.md in mpmath, at 60 digits: an arithmetic independent of the checker's.

Limits are solved for here, where the checker only verifies them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from mpmath import mp, mpf

mp.dps = 60

Exact = Fraction | int


def number(x: Exact | str) -> mpf:
    """An exact number, correctly rounded to 60 digits."""
    fraction = Fraction(x)
    return mpf(fraction.numerator) / mpf(fraction.denominator)


def rounded_up(x: mpf, places: int) -> str:
    """The decimal due for x; values that are exact but for 10⁻⁴⁰ are not pushed up a unit."""
    units = int(mp.ceil(x * mpf(10) ** places - mpf(10) ** -40))
    sign = "-" if units < 0 else ""
    digits = str(abs(units)).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def rate(x: mpf) -> str:
    return rounded_up(min(x, mpf(1)), 10)


def nats(x: mpf) -> str:
    return rounded_up(x, 6)


def root(rises: Callable[[mpf], mpf], low: mpf, high: mpf) -> mpf:
    """Where an increasing function crosses 0, between low and high: halving, then secants."""
    for _ in range(30):
        middle = (low + high) / 2
        if rises(middle) < 0:
            low = middle
        else:
            high = middle
    return mp.findroot(rises, (low, high), solver="anderson", tol=mpf(10) ** -90, verify=False)


# Relative entropy


def kl(q: mpf, p: mpf) -> mpf:
    heads = q * mp.log(q / p) if q > 0 else mpf(0)
    tails = (1 - q) * mp.log((1 - q) / (1 - p)) if q < 1 else mpf(0)
    return heads + tails


@cache
def kl_inverse(q: mpf, c: mpf) -> mpf:
    if c <= 0:
        return q
    edge = 1 - mpf(10) ** -45
    if q >= edge or kl(q, edge) < c:
        return mpf(1)
    return root(lambda p: kl(q, p) - c, q, edge)


# Binomial tails


def ln_tail(k: int, n: int, p: mpf) -> mpf:
    """ln P(Bin(n, p) ≤ k), summed downward from k."""
    ln_choose = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
    ln_last = ln_choose + k * mp.log(p) + (n - k) * mp.log(1 - p)
    odds = (1 - p) / p
    term = total = mpf(1)
    for i in range(k, 0, -1):
        term *= odds * i / (n - i + 1)
        total += term
        if term < mpf(10) ** -65 * total:
            break
    return ln_last + mp.log(total)


@cache
def clopper_pearson(k: int, n: int, level: mpf) -> mpf:
    """The upper limit at the level e^−level, for level > ln 2."""
    if k == n:
        return mpf(1)
    if k == 0:
        return 1 - mp.exp(-level / n)
    low, high = mpf(k) / n, 1 - mpf(10) ** -45
    if ln_tail(k, n, high) > -level:
        return mpf(1)
    return root(lambda p: -level - ln_tail(k, n, p), low, high)


# Costs and constants


@cache
def cost(k: int) -> mpf:
    return 2 * mp.log(k) + mp.log(mp.pi**2 / 6)


@cache
def maurer_constant(m: int) -> mpf:
    robbins = mp.sqrt(2 * mp.pi * m) * mp.exp(mpf(1) / (12 * m))
    return 1 + (robbins - mpf(2) / 3 - 8 / (135 * (m + mpf(8) / 45))) / 2


def grid_variance(index: int) -> mpf:
    return mp.exp(-mpf(index) / 100) / 10


# Limits of the empirical risk


def betting_sum(histogram: list[list[int]], scale: int, p: mpf) -> mpf:
    return mp.fsum(t * mp.log(1 + p - mpf(v) / scale) for v, t in histogram)


def betting_limit(histogram: list[list[int]], scale: int, level: mpf) -> mpf:
    low = max(mpf(0), mpf(histogram[-1][0]) / scale - 1) + mpf(10) ** -40
    if betting_sum(histogram, scale, mpf(1)) < level:
        return mpf(1)
    return root(lambda p: betting_sum(histogram, scale, p) - level, low, mpf(1))


# Divergence


def gaussian_moment(mean_square: mpf, lipschitz: mpf, samples: int, level: mpf) -> mpf:
    shift = lipschitz * mp.sqrt(2 * level / samples)
    return (mp.sqrt(mean_square) + shift) ** 2 + lipschitz**2 / samples


def theorem3_constant(lipschitz: mpf, d: int, offset: mpf) -> mpf:
    norm = mp.sqrt(6) * lipschitz + (lipschitz * mp.sqrt(d) + offset) / mp.sqrt(mp.log(2))
    return norm**2


def theorem3_moment(
    mean_square: mpf, lipschitz: mpf, d: int, offset: mpf, samples: int, level: mpf
) -> mpf:
    excess = (level + mp.sqrt(level**2 + 8 * samples * level)) / samples
    return mean_square + theorem3_constant(lipschitz, d, offset) * excess


def group_nats(moment: mpf, spread: mpf, d: int, variance: mpf, log_det: mpf) -> mpf:
    return (moment / variance - spread + d * mp.log(variance)) / 2 - log_det


# Bounds


def draw_level(x: mpf) -> mpf:
    """ln(1/f) of the binomial tail of a draw, at a density ratio of e^x."""
    a = mp.log(mp.exp(x) + mp.e) if abs(x) < 1000 else max(x, mpf(1))
    return a + 2 * mp.log(a)


def catoni_parameters(errors: int, examples: int, m: int, delta: mpf) -> tuple[mpf, ...]:
    """q₀, c₀, p₀ and λ."""
    q = mpf(2 * errors + 1) / (2 * examples + 2)
    c = (3 - mp.log(delta)) / m
    p = min(q + mp.sqrt(2 * q * c) + c, (1 + q) / 2)
    return q, c, p, mp.log(p * (1 - q) / (q * (1 - p)))


def catoni(q: mpf, total: mpf, m: int, delta: mpf, lam: mpf) -> mpf:
    return (1 - mp.exp(-lam * q - (total - mp.log(delta)) / m)) / (1 - mp.exp(-lam))


def complexity(inequality: str, total: mpf, m: int, delta: mpf) -> mpf:
    if inequality == "maurer":
        return (total + mp.log(2 * mp.sqrt(m) / delta)) / m
    if inequality in ("xi", "density"):
        return (total + mp.log(maurer_constant(m) / delta)) / m
    assert inequality in ("mcallester", "pinsker")
    return (total + mp.log(m / delta)) / (m - 1)


# Texts


def percent(shown: str) -> tuple[int, int]:
    """100 times a rate in units of its last place, rounded up; and the number of decimals."""
    units = int(shown.replace(".", ""))  # of 10⁻¹⁰
    decimals = 2 if units >= 10**7 else 6
    step = 10 ** (8 - decimals)
    return (units + step - 1) // step, decimals


def with_decimals(units: int, decimals: int) -> str:
    return f"{units // 10**decimals}.{units % 10**decimals:0{decimals}d}"


def pct(shown: str) -> str:
    return with_decimals(*percent(shown))


def cov(shown: str) -> str:
    units, decimals = percent(shown)
    return with_decimals(100 * 10**decimals - units, decimals)


def conf(delta: str) -> str:
    hundredth_millionths = -(-Fraction(delta).numerator * 10**8 // Fraction(delta).denominator)
    shown = with_decimals(10**8 - hundredth_millionths, 6)
    return shown.rstrip("0").rstrip(".")


def exact_mean(claim: dict[str, Any]) -> Fraction:
    n: int = claim.get("draws", claim["m"])
    if "errors" in claim:
        return Fraction(claim["errors"], n)
    if "total" in claim:
        return Fraction(claim["total"]) / n
    histogram = claim["histogram"]
    draws = sum(t for _, t in histogram)
    return Fraction(sum(v * t for v, t in histogram), claim["scale"] * draws)


def exact_rate(x: Fraction) -> str:
    """The decimal due for a fraction."""
    units = -(-x.numerator * 10**10 // x.denominator)
    return with_decimals(units, 10)
