#!/usr/bin/env python3
"""Check risk certificates of the format pacbound-certificate/2.

    python -I -S checker.py certificates/*.json

This file stands alone: it needs Python 3.11 and its standard library, nothing else.
It follows SPEC.md section by section. Every check has the number that SPEC.md gives it, and a
certificate that fails is rejected with that number. SPEC.md has the theorems behind the formulas.

What is checked: every figure follows from the recorded counts, sums and digests.
What is not: that these are the counts, sums and digests of the data and the network. Nobody can see
that in the file (SPEC.md, "What this format cannot show").

The parts of this file:
    verdicts · interval arithmetic · formulas · the frozen lists · the fields ·
    one function for each section of checks, 1 to 13 · the command line
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn, TypeAlias

__all__ = [
    "CHECKS",
    "FORMAT",
    "MAX_BYTES",
    "Record",
    "Verdict",
    "check_file",
    "main",
    "verify",
]

FORMAT = "pacbound-certificate/2"
MAX_BYTES = 4 * 2**20
MAX_NESTING = 8
MAX_INTEGER = 2**53 - 1  # what every JSON reader represents exactly

# ==================================================================================================
# Verdicts
# ==================================================================================================

CHECKS = {
    "1.1": "size of the file",
    "1.2": "encoding",
    "1.3": "nesting",
    "1.4": "JSON syntax",
    "1.5": "numbers",
    "1.6": "names of fields",
    "1.7": "format",
    "2.1": "an object",
    "2.2": "a missing field",
    "2.3": "an unknown field",
    "2.4": "an integer",
    "2.5": "a decimal",
    "2.6": "a text",
    "2.7": "a digest",
    "2.8": "a word",
    "2.9": "an array",
    "2.10": "a map",
    "3.1": "fewer duplicates than examples",
    "3.2": "at most 1 % of undeclared copies",
    "3.3": "unknown copies only of predictions",
    "3.4": "size of the prior's part",
    "3.5": "counted examples",
    "4.1": "structure of a module",
    "4.2": "source of a fixed predictor",
    "4.3": "who may abstain",
    "4.4": "kind of evidence",
    "4.5": "validation errors",
    "4.6": "validation examples",
    "4.7": "variances of an initialised prior",
    "4.8": "names of variances",
    "4.9": "number of parameters",
    "4.10": "groups of evidence",
    "4.11": "one variance for a network",
    "4.12": "layers of blocks",
    "5.1": "claims that a predictor can make",
    "5.2": "claims that need a threshold",
    "5.3": "class of a claim",
    "5.4": "order of the claims",
    "5.5": "examples of a claim",
    "5.6": "examples of all classes",
    "5.7": "examples of all groups",
    "5.8": "digest of the groups",
    "5.9": "sampling per example",
    "6.1": "sum of the shares of delta",
    "7.1": "seed of the draw",
    "7.2": "seed of the risk",
    "7.3": "seed of the divergence",
    "8.1": "cost of the prior's code",
    "8.2": "cost of the ledger",
    "9.1": "determinant against trace",
    "9.2": "determinant against Lipschitz constant",
    "9.3": "noise of the draw",
    "9.4": "divergence",
    "9.5": "density ratio of the draw",
    "9.6": "sign of the KL",
    "10.1": "number of errors",
    "10.2": "total cost",
    "10.3": "draws for every example",
    "10.4": "histogram",
    "10.5": "empirical mean",
    "10.6": "limit not too small",
    "10.7": "limit not too large",
    "10.8": "agreement of the errors",
    "11.1": "inequality of the predictor",
    "11.2": "validation for Catoni's inequality",
    "11.3": "how the inequality was selected",
    "11.4": "inequality as a candidate",
    "11.5": "bound not too small",
    "11.6": "bound not too large",
    "12.1": "kinds of further figures",
    "12.2": "order of further figures",
    "12.3": "bounds by other inequalities",
    "12.4": "held-out errors",
    "12.5": "held-out limit",
    "12.6": "divergence by Theorem 3",
    "13.1": "sentence",
}


class Rejected(Exception):
    """The certificate fails the check of this number."""

    def __init__(self, number: str, text: str) -> None:
        super().__init__(number, text)
        self.number, self.text = number, text


class _Failed(Exception):
    """The check that is being made fails."""


class _Undecided(ArithmeticError):
    """Two enclosures overlap so that their comparison is not decided."""


@contextlib.contextmanager
def check(number: str) -> Iterator[None]:
    """The check of this number is made inside; whatever goes wrong there rejects with it."""
    try:
        yield
    except _Failed as failure:
        raise Rejected(number, str(failure)) from None
    except _Undecided:
        raise Rejected(number, "a comparison cannot be decided") from None
    except Exception as error:  # a hostile file must not end the checker
        reason = f"{CHECKS[number]}: cannot be evaluated ({type(error).__name__})"
        raise Rejected(number, reason) from error


def require(condition: bool, otherwise: str) -> None:
    """Fail the check that is being made, unless the condition holds."""
    if not condition:
        raise _Failed(otherwise)


class Record(dict[str, Any]):
    """A JSON object; its fields can be read as attributes: `certificate.data.m`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Verdict(NamedTuple):
    """What the checker says about one file."""

    accepted: bool
    check: str = ""  # the number of the check that failed; empty if a demand of the user did
    reason: str = ""
    exit_code: int = 0  # 0: accepted; 1: rejected; 2: the file cannot be read, or is not JSON
    risk_bound: Decimal | None = None  # of the error on all inputs, if that is claimed
    delta: Decimal | None = None
    summary: str = ""
    certificate: Record | None = None  # only if it passed every check

    def __repr__(self) -> str:
        """One line, as a notebook shows it: a certificate has hundreds."""
        return f"Verdict({self.line('certificate')})"

    def fields(self) -> dict[str, Any]:
        """The verdict without the certificate, for other programs."""
        return {name: x for name, x in self._asdict().items() if name != "certificate"}

    def line(self, name: str) -> str:
        """One printable line, whatever the certificate and the name of its file contain."""
        if self.accepted:
            words = f"VERIFIED {name}: {self.summary}"
        else:
            words = f"REJECTED {name}: {f'{self.check} {self.reason}'.strip()}"
        return "".join(x if x.isprintable() else "?" for x in words)


def _shown(value: object) -> str:
    """A value from the file, short enough for a message."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _decimal_text(x: Fraction) -> str:
    """A fraction whose decimal expansion ends, as that decimal."""
    digits = 0
    while (x * 10**digits).denominator > 1 and digits < 60:
        digits += 1
    whole = str(abs(int(x * 10**digits))).rjust(digits + 1, "0")
    text = f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole
    return f"-{text}" if x < 0 else text


# ==================================================================================================
# Interval arithmetic (SPEC.md, "Arithmetic and rounding")
# ==================================================================================================

PRECISION = 64  # significant digits of every operation; SPEC.md asks for at least 60
DOWN = Context(prec=PRECISION, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
UP = Context(prec=PRECISION, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)


class Interval:
    """All real numbers from lo to hi. Every operation encloses its exact result.

    Lower ends are rounded down and upper ends up. Operands may be integers and fractions.
    """

    __slots__ = ("hi", "lo")

    def __init__(self, lo: Decimal, hi: Decimal) -> None:
        self.lo, self.hi = lo, hi

    def __repr__(self) -> str:
        return f"[{self.lo}, {self.hi}]"

    def __neg__(self) -> Interval:
        return Interval(self.hi.copy_negate(), self.lo.copy_negate())

    def __add__(self, other: Real) -> Interval:
        other = enclose(other)
        return Interval(DOWN.add(self.lo, other.lo), UP.add(self.hi, other.hi))

    def __sub__(self, other: Real) -> Interval:
        other = enclose(other)
        return Interval(DOWN.subtract(self.lo, other.hi), UP.subtract(self.hi, other.lo))

    def __mul__(self, other: Real) -> Interval:
        other = enclose(other)
        if self.lo >= 0 and other.lo >= 0:
            return Interval(DOWN.multiply(self.lo, other.lo), UP.multiply(self.hi, other.hi))
        ends = [(x, y) for x in (self.lo, self.hi) for y in (other.lo, other.hi)]
        return Interval(
            min(DOWN.multiply(x, y) for x, y in ends), max(UP.multiply(x, y) for x, y in ends)
        )

    def __truediv__(self, other: Real) -> Interval:
        other = enclose(other)
        if other.lo <= 0 <= other.hi:
            raise ZeroDivisionError
        ends = [(x, y) for x in (self.lo, self.hi) for y in (other.lo, other.hi)]
        return Interval(
            min(DOWN.divide(x, y) for x, y in ends), max(UP.divide(x, y) for x, y in ends)
        )

    def __radd__(self, other: int | Fraction) -> Interval:
        return self + other

    def __rsub__(self, other: int | Fraction) -> Interval:
        return enclose(other) - self

    def __rmul__(self, other: int | Fraction) -> Interval:
        return self * other

    def __rtruediv__(self, other: int | Fraction) -> Interval:
        return enclose(other) / self

    # The decimal module rounds the following three correctly to the nearest decimal, whatever the
    # rounding of the context is. One unit further out on each side encloses the exact value.

    def ln(self) -> Interval:
        low = DOWN.ln(self.lo)
        high = low if self.lo == self.hi else UP.ln(self.hi)
        return Interval(DOWN.next_minus(low), UP.next_plus(high))

    def exp(self) -> Interval:
        low = DOWN.exp(self.lo)
        high = low if self.lo == self.hi else UP.exp(self.hi)
        return Interval(max(DOWN.next_minus(low), Decimal(0)), UP.next_plus(high))

    def sqrt(self) -> Interval:
        low, high = DOWN.sqrt(self.lo), UP.sqrt(self.hi)
        return Interval(max(DOWN.next_minus(low), Decimal(0)), UP.next_plus(high))


Real: TypeAlias = Interval | Fraction | int


def enclose(x: Real) -> Interval:
    """The smallest interval around a number."""
    if isinstance(x, Interval):
        return x
    if isinstance(x, int):
        return Interval(Decimal(x), Decimal(x))
    above, below = Decimal(x.numerator), Decimal(x.denominator)
    return Interval(DOWN.divide(above, below), UP.divide(above, below))


def ln(x: Real) -> Interval:
    return enclose(x).ln()


def exp(x: Real) -> Interval:
    return enclose(x).exp()


def sqrt(x: Real) -> Interval:
    return enclose(x).sqrt()


def smaller(x: Real, y: Real) -> Interval:
    x, y = enclose(x), enclose(y)
    return Interval(min(x.lo, y.lo), min(x.hi, y.hi))


def larger(x: Real, y: Real) -> Interval:
    x, y = enclose(x), enclose(y)
    return Interval(max(x.lo, y.lo), max(x.hi, y.hi))


def product_of_powers(bases: Sequence[Interval], exponents: Sequence[int]) -> Interval:
    """x₁^n₁ · x₂^n₂ · … of positive intervals, by repeated squaring of the whole product.

    So a histogram of large counts takes few operations for each of its entries.
    """
    low = high = Decimal(1)
    for bit in reversed(range(max(exponents).bit_length())):
        low, high = DOWN.multiply(low, low), UP.multiply(high, high)
        for base, exponent in zip(bases, exponents, strict=True):
            if exponent >> bit & 1:
                low, high = DOWN.multiply(low, base.lo), UP.multiply(high, base.hi)
    return Interval(low, high)


SLACK = Fraction(1, 10**30)


def at_most(a: Real, b: Real) -> bool:
    """Whether a ≤ b, with the slack that SPEC.md grants to every comparison of real numbers."""
    a, b = enclose(a), enclose(b) + SLACK
    if a.hi <= b.lo:
        return True
    if a.lo > b.hi:
        return False
    raise _Undecided


# ==================================================================================================
# Formulas (SPEC.md, "Arithmetic and rounding")
# ==================================================================================================

RATE_UNIT = Fraction(1, 10**10)  # one unit in the last place of a rate
NATS_UNIT = Fraction(1, 10**6)

# 80 decimals of π, cut off
_PI_DIGITS = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
PI = enclose(Fraction(_PI_DIGITS)) + Interval(Decimal(0), Decimal("1e-80"))

# A predicate about p that is true from the exact limit upward.
Predicate: TypeAlias = Callable[[Fraction], bool]


def is_sound(sound: Predicate, p: Fraction) -> bool:
    """The predicate, which is true from 1 upward and false below 0 in all cases."""
    if p >= 1:
        return True
    if p < 0:
        return False
    return sound(p)


def require_sound(name: str, shown: str, sound: Predicate) -> None:
    require(is_sound(sound, Fraction(shown)), f"{name} is {shown}, smaller than what is due")


def require_least(name: str, shown: str, sound: Predicate) -> None:
    """Two units below the figure must not be sound: rounding explains no more."""
    less = Fraction(shown) - 2 * RATE_UNIT
    require(not is_sound(sound, less), f"{name} is {shown}, larger than what is due")


def require_due_nats(name: str, shown: str, exact: Interval) -> None:
    """The figure lies in [x, x + 2u) for the exact value x and the unit u of nats."""
    figure = Fraction(shown)
    due = f"{Decimal(exact.hi):.9f}" if abs(exact.hi) < Decimal("1e20") else f"{exact.hi:.9e}"
    require(at_most(exact, figure), f"{name} is {shown}, smaller than the {due} due")
    too_large = at_most(exact, figure - 2 * NATS_UNIT)
    require(not too_large, f"{name} is {shown}, larger than the {due} due")


def relative_entropy(q: Fraction, p: Fraction) -> Interval:
    """kl(q‖p) of two coins, for 0 ≤ q < p < 1."""
    heads = q * ln(q / p) if q > 0 else enclose(0)
    return heads + (1 - q) * ln((1 - q) / (1 - p))


def kl_sound(q: Fraction, complexity: Interval, p: Fraction) -> bool:
    """True from kl⁻¹(q, complexity) upward."""
    if p >= 1:
        return True
    if p >= q and at_most(complexity, 0):
        return True
    if q < p:
        return at_most(complexity, relative_entropy(q, p))
    return False


# The Bernoulli numbers B₂, B₄, …, B₂₄ of Stirling's series.
_BERNOULLI = (
    Fraction(1, 6),
    Fraction(-1, 30),
    Fraction(1, 42),
    Fraction(-1, 30),
    Fraction(5, 66),
    Fraction(-691, 2730),
    Fraction(7, 6),
    Fraction(-3617, 510),
    Fraction(43867, 798),
    Fraction(-174611, 330),
    Fraction(854513, 138),
    Fraction(-236364091, 2730),
)
_SMALL = 256  # Stirling's series with these terms errs by less than 10⁻⁵³ from here on


@functools.lru_cache(maxsize=10_000)
def ln_factorial(n: int) -> Interval:
    """ln n!, exactly for small n, otherwise by Stirling's series.

    The terms of the series alternate in sign. A partial sum is above ln n! if it ends with a
    positive term, and below if it ends with a negative one: the last two enclose it.
    """
    if n < _SMALL:
        return ln(math.factorial(n))
    above = below = ln(n) * Fraction(2 * n + 1, 2) - n + ln(2 * PI) / 2
    for index, bernoulli in enumerate(_BERNOULLI):
        j = 2 * (index + 1)
        above, below = below, below + enclose(bernoulli / (j * (j - 1))) / n ** (j - 1)
    return Interval(below.lo, above.hi)


def tail_over_last_term(k: int, n: int, p: Fraction, digits: int) -> Interval:
    """The sum 1 + r₁ + r₁r₂ + … of SPEC.md, for p > k/n: B(k, n, p) over its largest term.

    The sum ends when less than 10^−digits can follow.
    Terms are integers that count units of 10⁻⁵⁵. Each step rounds down, which loses less than one
    unit, and what was lost before shrinks with the terms. So term i is short by less than i units.
    """
    unit = 10**55
    small = unit // 10**digits
    odds_against, odds_for = p.denominator - p.numerator, p.numerator
    above, below = k * odds_against, (n - k + 1) * odds_for  # r₁ = above/below, and so on
    total = term = unit
    count = rest = 0
    while count < k:
        count += 1
        term = term * above // below
        total += term
        above, below = above - odds_against, below + odds_for
        # The ratios fall, so the terms that follow add up to less than a geometric series.
        rest = (term + count) * above // (below - above) + 1
        if rest < small:
            break
    missing = count * (count + 1) // 2 + rest
    return enclose(Fraction(total, unit)) + Interval(Decimal(0), Decimal(missing)) / unit


@functools.lru_cache(maxsize=10_000)
def ln_binomial_tail(k: int, n: int, p: Fraction, digits: int = 45) -> Interval:
    """ln B(k, n, p) = ln P(Bin(n, p) ≤ k), for k/n < p < 1, to about so many digits."""
    ways = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
    last_term = ways + k * ln(p) + (n - k) * ln(1 - p)
    return last_term + ln(tail_over_last_term(k, n, p, digits))


def binomial_sound(k: int, n: int, level: Interval, p: Fraction) -> bool:
    """True from the Clopper–Pearson limit at the level e^−level upward."""
    if p >= 1:
        return True
    if k == n or p <= Fraction(k, n):
        return False
    with contextlib.suppress(_Undecided):  # ten digits decide almost always, with fewer terms
        return at_most(ln_binomial_tail(k, n, p, digits=10), -level)
    return at_most(ln_binomial_tail(k, n, p), -level)


@functools.lru_cache(maxsize=10_000)
def maurer_constant(m: int) -> Interval:
    """X(m), an upper bound of Maurer's ξ(m) in closed form."""
    root = sqrt(2 * m * PI) * exp(Fraction(1, 12 * m))
    return 1 + (root - Fraction(2, 3) - Fraction(8, 135) / (m + Fraction(8, 45))) / 2


LN_ZETA_2 = ln(PI * PI / 6)


@functools.lru_cache(maxsize=10_000)
def cost(k: int) -> Interval:
    """What an index k ≥ 1 of a declared list costs: the weights 6/(π²k²) add up to 1."""
    return 2 * ln(k) + LN_ZETA_2


# ==================================================================================================
# The frozen lists (SPEC.md, appendix A)
# ==================================================================================================

RECIPES = (
    *("table", "module", "fashion-lenet-learned", "lenet-5", "lenet-5-learned", "lenet-small"),
    *("lenet-small-deskewed", "mlp-30", "mlp-30-deskewed", "mlp-600", "mlp-600-learned"),
    *("mlp-600x2", "vi-lenet-5", "vi-lenet-5-cifar5", "lenet-5-blocks", "lenet-lean"),
    *("mlp-600-blocks", "mlp-600x2-blocks", "cifar-10-resnet-learned", "fashion-resnet-learned"),
    *("mnist-resnet-learned", "mnist-resnet-wide-learned"),
)
NETWORKS = ("lenet", "mlp", "module", "resnet", "vgg")
INITIALIZERS = ("fan-in-uniform", "he-normal", "orthogonal", "xavier-uniform", "zeros")
INPUT_SCALES = ("0.25", "0.5", "1", "1.5", "2", "3", "4", "8")
SMOOTHING_LENGTHS = ("0", "0.5", "0.75", "1", "1.25", "1.5", "2", "3")
ALIGNMENTS = ("deskew", "none")
HIDDEN_BIASES = ("0", "-0.5", "-1", "-2", "-3", "-4", "-6", "-8")
PRIOR_FRACTIONS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9")
VARIANCE_GROUPS = ("layer", "network")

# Of an initialised prior. Network, initializer, input_scale, smoothing, alignment, hidden_bias and
# widths of each recipe; the other entries of the tuple are the same for all, but for later_bias and
# blocks of recipes that have blocks.
_INITIALISED_DEFAULTS: dict[str, tuple[str, str, str, str, str, str, list[int]]] = {
    "table": ("mlp", "zeros", "1", "0", "none", "0", []),
    "module": ("module", "fan-in-uniform", "1", "0", "none", "0", []),
    "lenet-5": ("lenet", "he-normal", "2", "0", "none", "-2", [20, 50, 500]),
    "lenet-small": ("lenet", "fan-in-uniform", "2", "0", "none", "0", [10, 20, 50]),
    "lenet-small-deskewed": ("lenet", "fan-in-uniform", "2", "0", "deskew", "0", [10, 20, 50]),
    "mlp-30": ("mlp", "fan-in-uniform", "1.5", "1", "none", "0", [30]),
    "mlp-30-deskewed": ("mlp", "fan-in-uniform", "1.5", "1", "deskew", "0", [30]),
    "mlp-600": ("mlp", "fan-in-uniform", "1.5", "1", "none", "-4", [600]),
    "mlp-600x2": ("mlp", "he-normal", "1.5", "1", "none", "-4", [600, 600]),
    "lenet-5-blocks": ("lenet", "he-normal", "2", "1", "none", "0", [20, 50, 500]),
    "lenet-lean": ("lenet", "fan-in-uniform", "2", "1", "none", "0", [6, 12]),
    "mlp-600-blocks": ("mlp", "fan-in-uniform", "1.5", "1", "none", "0", [600]),
    "mlp-600x2-blocks": ("mlp", "fan-in-uniform", "1.5", "1", "none", "0", [600, 600]),
}
_DEFAULT_BLOCKS: dict[str, tuple[str, list[tuple[int, list[int]]]]] = {
    "lenet-5-blocks": ("-2", [(1, [8, 12]), (2, [16, 34]), (3, [20, 480])]),
    "mlp-600-blocks": ("-4", [(1, [30, 570])]),
    "mlp-600x2-blocks": ("-4", [(1, [30, 570]), (2, [30, 570])]),
}
_DEFAULT_FRACTIONS = {
    "fashion-lenet-learned": "0.7",
    "cifar-10-resnet-learned": "0.8",
    "fashion-resnet-learned": "0.7",
    "mnist-resnet-wide-learned": "0.6",
}


def default_choices(kind: str, recipe: str) -> dict[str, Any] | None:
    """The default tuple of a recipe for this kind of prior (A.10), or None if it has none."""
    everywhere: dict[str, Any] = {"seed": 0, "variance_groups": "layer", "blocks": []}
    if kind == "learned":
        fraction = _DEFAULT_FRACTIONS.get(recipe, "0.5")
        return everywhere | {"prior_fraction": fraction, "split_seed": 0}
    if kind == "elsewhere":
        return everywhere | {"initializer": "zeros" if recipe == "table" else "fan-in-uniform"}
    if recipe not in _INITIALISED_DEFAULTS:
        return None
    names = ("network", "initializer", "input_scale", "smoothing", "alignment", "hidden_bias")
    values = zip((*names, "widths"), _INITIALISED_DEFAULTS[recipe], strict=True)
    later_bias, cut = _DEFAULT_BLOCKS.get(recipe, ("0", []))
    blocks = [{"layer": layer, "sizes": sizes} for layer, sizes in cut]
    return everywhere | dict(values) | {"later_bias": later_bias, "blocks": blocks}


# ==================================================================================================
# The fields (SPEC.md, "The fields")
# ==================================================================================================

SAMPLED = ("gibbs", "vote-gibbs", "vote-tandem")  # the empirical risk is estimated by Monte Carlo
VOTES = ("vote-gibbs", "vote-tandem")
SUBJECTS = ("all", "answered", "true-class", "predicted-class", "group")
LOSSES = ("zero-one", "abstention", "cost")
ALSO_KINDS = ("inequality", "held-out", "theorem3")
ALSO_NAMES = ("mcallester", "maurer", "xi", "catoni", "pinsker", "binomial", "density")

# A kind checks a value. It gets the value, the place where it is, and the whole certificate, of
# which the fields that come earlier in the tables have been checked.
Kind: TypeAlias = Callable[[Any, str, Record], None]
# A condition gets the whole certificate and the object that the field belongs to.
Condition: TypeAlias = Callable[[Record, Record], bool]


class Field(NamedTuple):
    """A row of a table: the field must be there if the condition is true, and only then."""

    name: str
    kind: Kind
    only_if: Condition = lambda certificate, here: True


def _reject(number: str, where: str, expected: str, value: object) -> NoReturn:
    raise Rejected(number, f"{where} must be {expected}; it is {_shown(value)}")


def integer(least: int, most: int) -> Kind:
    def read(value: Any, where: str, certificate: Record) -> None:
        # type(), because Python's True is an int
        if type(value) is not int or value < least or value > most:
            _reject("2.4", where, f"an integer from {least} to {most}", value)

    return read


def decimal(grammar: str, description: str, fits: Callable[[Fraction], bool]) -> Kind:
    pattern = re.compile(grammar)

    def read(value: Any, where: str, certificate: Record) -> None:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            _reject("2.5", where, description, value)
        number = Fraction(value)
        if not fits(number) or (number == 0 and value.startswith("-")):
            _reject("2.5", where, description, value)

    return read


_DECIMAL = r"(0|[1-9][0-9]{0,17})(\.[0-9]{1,30})?"
real = decimal("-?" + _DECIMAL, "a decimal", lambda x: True)
nonnegative = decimal(_DECIMAL, "a decimal from 0", lambda x: True)
positive = decimal(_DECIMAL, "a decimal above 0", lambda x: x > 0)
share = decimal(_DECIMAL, "a decimal above 0 and below 1/2", lambda x: 0 < x < Fraction(1, 2))
rate = decimal(r"0\.[0-9]{10}|1\.0000000000", "a rate with 10 decimals", lambda x: True)
nats = decimal(r"-?(0|[1-9][0-9]{0,14})\.[0-9]{6}", "nats with 6 decimals", lambda x: True)
_confidence = decimal(_DECIMAL, "empty, or a decimal from 0 to 1", lambda x: x <= 1)


def threshold(value: Any, where: str, certificate: Record) -> None:
    if value != "":
        _confidence(value, where, certificate)


# Control characters, invisible ones, those that change the direction of writing, halves of
# surrogate pairs, and the two quotation marks with which the sentence encloses names.
_UNPRINTABLE = re.compile(
    "[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u201c\u201d\u2028-\u202e\u2060-\u2069"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def string(least: int, most: int) -> Kind:
    def read(value: Any, where: str, certificate: Record) -> None:
        if not isinstance(value, str) or len(value) < least or len(value) > most:
            _reject("2.6", where, f"a text of {least} to {most} characters", value)

    return read


def text(least: int, most: int) -> Kind:
    of_that_length = string(least, most)

    def read(value: Any, where: str, certificate: Record) -> None:
        of_that_length(value, where, certificate)
        if _UNPRINTABLE.search(value):
            _reject("2.6", where, "a text of printable characters", value)

    return read


def digest(value: Any, where: str, certificate: Record) -> None:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        _reject("2.7", where, "a digest of 64 hexadecimal digits", value)


def digest_or_empty(value: Any, where: str, certificate: Record) -> None:
    if value != "":
        digest(value, where, certificate)


def word(*words: str) -> Kind:
    def read(value: Any, where: str, certificate: Record) -> None:
        if not isinstance(value, str) or value not in words:
            _reject("2.8", where, f"one of {', '.join(words)}", value)

    return read


def array(least: int, most: int, kind: Kind) -> Kind:
    def read(value: Any, where: str, certificate: Record) -> None:
        if not isinstance(value, list):
            _reject("2.9", where, "an array", value)
        if len(value) < least or len(value) > most:
            _reject("2.9", where, f"an array of {least} to {most} elements", len(value))
        for position, element in enumerate(value):
            kind(element, f"{where}[{position}]", certificate)

    return read


def table(*fields: Field) -> Kind:
    def read(value: Any, where: str, certificate: Record) -> None:
        if not isinstance(value, Record):
            _reject("2.1", where or "the certificate", "an object", value)
        allowed = set()
        for field in fields:
            if not field.only_if(certificate, value):
                continue
            allowed.add(field.name)
            inside = f"{where}.{field.name}" if where else field.name
            if field.name not in value:
                raise Rejected("2.2", f"the field {inside} is missing")
            field.kind(value[field.name], inside, certificate)
        for name in value:
            if name not in allowed:
                inside = f"{where}.{name}" if where else name
                raise Rejected("2.3", f"the field {_shown(inside)} is unknown, or not allowed here")

    return read


_MAP_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9 _.:/+-]{0,59}")
_map_value = text(0, 2000)


def free_map(value: Any, where: str, certificate: Record) -> None:
    if not isinstance(value, Record):
        _reject("2.1", where, "an object", value)
    if len(value) > 300:
        _reject("2.10", where, "a map of at most 300 entries", len(value))
    for name in value:
        if not _MAP_NAME.fullmatch(name):
            _reject("2.10", where, "a map with plain names", name)
    for name, entry in value.items():
        _map_value(entry, f"{where}.{name}", certificate)


# Conditions


def _fixed(certificate: Record, here: Record) -> bool:
    return bool(certificate.predictor == "fixed")


def _not_fixed(certificate: Record, here: Record) -> bool:
    return bool(certificate.predictor != "fixed")


def _sampled(certificate: Record, here: Record) -> bool:
    return certificate.predictor in SAMPLED


def _per_example(certificate: Record, claim: Record) -> bool:
    return certificate.predictor in SAMPLED and claim.sampler == "per-example"


def _per_weights(certificate: Record, claim: Record) -> bool:
    return certificate.predictor in SAMPLED and claim.sampler == "per-weights"


def _counts_errors(certificate: Record, claim: Record) -> bool:
    return claim.loss != "cost" and not _per_weights(certificate, claim)


def _adds_costs(certificate: Record, claim: Record) -> bool:
    return claim.loss == "cost" and not _per_weights(certificate, claim)


def _prior_is(*kinds: str) -> Condition:
    return lambda certificate, here: certificate.prior.kind in kinds


def _evidence_is(*kinds: str) -> Condition:
    return lambda certificate, here: certificate.evidence.kind in kinds


def _here_is(name: str, *values: str) -> Condition:
    """The other field `name` of the same object has one of these values."""
    return lambda certificate, here: here[name] in values


# Tables, in the order of SPEC.md

_CLAIM = table(
    Field("subject", word(*SUBJECTS)),
    Field("class", integer(0, 1000000), _here_is("subject", "true-class", "predicted-class")),
    Field("group", text(1, 60), _here_is("subject", "group")),
    Field("loss", word(*LOSSES)),
    Field("cost", text(1, 60), _here_is("loss", "cost")),
    Field("cost_sha256", digest, _here_is("loss", "cost")),
    Field("m", integer(1, 10000000)),
    Field("delta", share),
    Field("delta_risk", share, _sampled),
    Field("sampler", word("per-example", "per-weights"), _sampled),
    Field("draws", integer(1, 10**15), _per_example),
    Field("errors", integer(0, 10**15), _counts_errors),
    Field("total", nonnegative, _adds_costs),
    Field("scale", integer(1, 1000000), _per_weights),
    Field("histogram", array(1, 1001, array(2, 2, integer(0, 10**15))), _per_weights),
    Field("limit_by", word("betting", "chernoff"), _per_weights),
    Field("empirical", rate),
    Field("limit", rate, _sampled),
    Field("bound", rate),
)

_DATA = table(
    Field("name", text(1, 200)),
    Field("examples", integer(1, 10000000)),
    Field("m", integer(1, 10000000)),
    Field("classes", integer(2, 1000001)),
    Field("sha256", digest),
    Field("duplicates", integer(0, 10000000)),
    Field("copies", word("counted", "independent", "unknown")),
    Field("groups_sha256", digest_or_empty),
)

_EXTRACTOR = table(Field("sha256", digest), Field("origin", text(1, 200)))


def _has_recipe(certificate: Record, model: Record) -> bool:
    return bool(certificate.predictor != "fixed" or model.source == "centre")


_MODEL = table(
    Field("source", word("centre", "estimator", "module", "onnx", "predictions"), _fixed),
    Field("recipe", word(*RECIPES), _has_recipe),
    Field("network", word(*NETWORKS), _not_fixed),
    Field("structure_sha256", digest_or_empty, _not_fixed),
    Field("posterior", word("diag", "k-diag", "k-linear", "k-nonlinear"), _not_fixed),
    Field("parameters", integer(1, 10**12), _not_fixed),
    Field("frozen", integer(0, 10**12), _not_fixed),
    Field("sha256", digest),
    Field("extractors", array(0, 8, _EXTRACTOR)),
    Field("answer_above", threshold),
)

_PART = table(Field("examples", integer(1, 10000000)), Field("sha256", digest))
_VALIDATION = table(Field("examples", integer(0, 10000000)), Field("errors", integer(0, 10000000)))
_BLOCK = table(
    Field("layer", integer(1, 10000)), Field("sizes", array(2, 20, integer(1, 10000000)))
)
_CHOICES = table(
    Field("initializer", word(*INITIALIZERS), _prior_is("initialised", "elsewhere")),
    Field("seed", integer(0, 1000000000)),
    Field("input_scale", word(*INPUT_SCALES), _prior_is("initialised")),
    Field("smoothing", word(*SMOOTHING_LENGTHS), _prior_is("initialised")),
    Field("alignment", word(*ALIGNMENTS), _prior_is("initialised")),
    Field("hidden_bias", word(*HIDDEN_BIASES), _prior_is("initialised")),
    Field("later_bias", word(*HIDDEN_BIASES), _prior_is("initialised")),
    Field("widths", array(0, 100, integer(1, 10000000)), _prior_is("initialised")),
    Field("prior_fraction", word(*PRIOR_FRACTIONS), _prior_is("learned")),
    Field("split_seed", integer(0, 1000000000), _prior_is("learned")),
    Field("variance_groups", word(*VARIANCE_GROUPS)),
    Field("blocks", array(0, 100, _BLOCK)),
)
_VARIANCE = table(
    Field("name", text(1, 200)),
    Field("parameters", integer(1, 10**12)),
    Field("by", word("grid", "given")),
    Field("index", integer(1, 10000), _here_is("by", "grid")),
    Field("value", positive, _here_is("by", "given")),
)


def _has_validation(certificate: Record, prior: Record) -> bool:
    return certificate.predictor != "fixed" and prior.kind in ("learned", "elsewhere")


_PRIOR = table(
    Field("kind", word("none", "learned"), _fixed),
    Field("kind", word("initialised", "learned", "elsewhere"), _not_fixed),
    Field("sha256", digest, _not_fixed),
    Field("origin", text(1, 200), _here_is("kind", "elsewhere")),
    Field("part", _PART, _here_is("kind", "learned")),
    Field("validation", _VALIDATION, _has_validation),
    Field("choices", _CHOICES, _here_is("kind", "initialised", "learned", "elsewhere")),
    Field("variances", array(1, 2000, _VARIANCE), _not_fixed),
)

_TRIED = table(Field("candidates", integer(1, 1000000000)), Field("looks", integer(0, 1000000)))
_CERTIFICATES = table(
    Field("counted", word("declared", "place")), Field("number", integer(1, 1000000000))
)
_LEDGER = table(
    Field("recipe", _TRIED), Field("user", _TRIED), Field("certificates", _CERTIFICATES)
)

_GROUP = table(
    Field("trace", positive, _evidence_is("exact")),
    Field("mean_square", positive, _evidence_is("monte-carlo")),
    Field("distance_sq", nonnegative, _evidence_is("exact", "drawn")),
    Field("lipschitz", positive, _evidence_is("monte-carlo")),
    Field("offset", nonnegative, _evidence_is("monte-carlo")),
    Field("noise_sq", nonnegative, _evidence_is("drawn")),
    Field("log_det", real),
)


def _is_draw(certificate: Record, here: Record) -> bool:
    return bool(certificate.predictor == "draw")


_EVIDENCE = table(
    Field("kind", word("drawn"), _is_draw),
    Field("kind", word("exact", "monte-carlo"), _sampled),
    Field("weights_sha256", digest, _here_is("kind", "drawn")),
    Field("delta_kl", share, _here_is("kind", "monte-carlo")),
    Field("tail", word("gaussian", "theorem3"), _here_is("kind", "monte-carlo")),
    Field("samples", integer(1, 1000000000), _here_is("kind", "monte-carlo")),
    Field("groups", array(1, 2000, _GROUP)),
    Field("nats", nats),
)

_BOUND = table(
    Field("inequality", word("mcallester", "maurer", "xi", "catoni", "binomial", "density")),
    Field("selected", word("rule", "beforehand", "candidate")),
    Field("code", nats),
    Field("ledger", nats),
)

_ALSO = table(
    Field("kind", word(*ALSO_KINDS)),
    Field("name", word(*ALSO_NAMES), _here_is("kind", "inequality")),
    Field("value", rate, _here_is("kind", "inequality")),
    Field("examples", integer(1, 10000000), _here_is("kind", "held-out")),
    Field("errors", integer(0, 10000000), _here_is("kind", "held-out")),
    Field("upper", rate, _here_is("kind", "held-out")),
    Field("nats", nats, _here_is("kind", "theorem3")),
)

_SEEDS = table(
    Field("draw", digest, _is_draw),
    Field("risk", digest, _sampled),
    Field("kl", digest, _evidence_is("monte-carlo")),
)

_MADE = table(
    Field("date", text(0, 40)),
    Field("command", text(0, 2000)),
    Field("training_command", text(0, 2000)),
    Field("software", free_map),
    Field("machine", free_map),
    Field("prior", free_map),
    Field("times", free_map),
    Field("settings", free_map),
)

_CERTIFICATE = table(
    Field("format", word(FORMAT)),
    Field("sentence", string(1, 20000)),
    Field("predictor", word("gibbs", "draw", "vote-gibbs", "vote-tandem", "fixed")),
    Field("delta", share),
    Field("claims", array(1, 2001, _CLAIM)),
    Field("data", _DATA),
    Field("model", _MODEL),
    Field("prior", _PRIOR),
    Field("ledger", _LEDGER),
    Field("evidence", _EVIDENCE, _not_fixed),
    Field("bound", _BOUND),
    Field("also", array(0, 20, _ALSO)),
    Field("seeds", _SEEDS, _not_fixed),
    Field("made", _MADE),
)

# ==================================================================================================
# 1 Reading
# ==================================================================================================

# A string, also one that does not end, or a bracket outside strings.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_INTEGER = re.compile("0|-?[1-9][0-9]*")


class _Reader:
    """Python's JSON parser, which notes what sections 1.5 and 1.6 forbid for afterwards."""

    def __init__(self) -> None:
        self.bad_number = ""
        self.twice = ""

    def number(self, digits: str) -> int:
        short = len(digits) <= len(str(MAX_INTEGER)) + 1
        if short and _INTEGER.fullmatch(digits) and abs(int(digits)) <= MAX_INTEGER:
            return int(digits)
        self.bad_number = self.bad_number or digits
        return 0

    def fields(self, pairs: list[tuple[str, Any]]) -> Record:
        record = Record(pairs)
        if len(record) < len(pairs):
            names = [name for name, _ in pairs]
            self.twice = self.twice or _shown(next(x for x in names if names.count(x) > 1))
        return record

    def constant(self, name: str) -> NoReturn:
        raise _Failed(f"{name} is not JSON")

    def read(self, characters: str) -> Any:
        decoder = json.JSONDecoder(
            object_pairs_hook=self.fields,
            parse_int=self.number,
            parse_float=self.number,
            parse_constant=self.constant,
        )
        try:
            return decoder.decode(characters)
        except json.JSONDecodeError as error:
            raise _Failed(f"not JSON: {error}") from None


def section_1_reading(content: bytes) -> Record:
    with check("1.1"):
        require(len(content) <= MAX_BYTES, f"the file has more than {MAX_BYTES} bytes")

    with check("1.2"):
        try:
            characters = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _Failed(f"not UTF-8 at byte {error.start}") from None

    with check("1.3"):
        nesting = 0
        for found in _STRING_OR_BRACKET.finditer(characters):
            if found[0] in ("{", "["):
                nesting += 1
            elif found[0] in ("}", "]"):
                nesting -= 1
            require(nesting <= MAX_NESTING, f"nested more than {MAX_NESTING} deep")

    with check("1.4"):
        reader = _Reader()
        value = reader.read(characters)

    with check("1.5"):
        bad = reader.bad_number
        require(not bad, f"{_shown(bad)} is not an integer, or has more than 53 bits")

    with check("1.6"):
        require(not reader.twice, f"an object has the field {reader.twice} twice")

    with check("1.7"):
        require(isinstance(value, Record), "the file is not a JSON object")
        require("format" in value, "this is not a certificate: it has no format")
        found_format = value.get("format")
        require(found_format == FORMAT, f"the format is {_shown(found_format)}, not {FORMAT}")
    certificate: Record = value
    return certificate


# ==================================================================================================
# 2 Shape
# ==================================================================================================


def section_2_shape(certificate: Record) -> None:
    """Checks 2.1 to 2.10 are made by the kinds of the fields, in the order of the tables."""
    _CERTIFICATE(certificate, "", certificate)


# ==================================================================================================
# 3 Data
# ==================================================================================================


def section_3_data(c: Record) -> None:
    data, learned = c.data, c.prior.kind == "learned"

    with check("3.1"):
        few = data.duplicates < data.examples
        require(few, f"{data.duplicates} duplicates among {data.examples} examples")

    with check("3.2"):
        if data.copies == "counted":
            few = 100 * data.duplicates <= data.examples
            require(few, f"{data.duplicates} copies of {data.examples} are more than 1 %")

    with check("3.3"):
        if data.copies == "unknown":
            require(data.duplicates == 0, "duplicates that are unknown must be 0")
            require(
                c.predictor == "fixed" and c.model.source == "predictions",
                "copies are unknown only in a file of predictions",
            )

    with check("3.4"):
        if learned:
            fraction = Fraction(c.prior.choices.prior_fraction)
            due = math.floor(fraction * data.examples + Fraction(1, 2))
            shown = c.prior.part.examples
            require(shown == due, f"the prior's part has {shown} examples, not {due}")

    with check("3.5"):
        due = data.examples - c.prior.part.examples if learned else data.examples
        require(data.m == due, f"data.m is {data.m}, not {due}")


# ==================================================================================================
# 4 Model and prior
# ==================================================================================================


def section_4_model_and_prior(c: Record) -> None:
    model, prior = c.model, c.prior
    fixed = c.predictor == "fixed"
    validation = prior.get("validation")
    choices = prior.get("choices")
    variances = prior.get("variances", [])

    with check("4.1"):
        if not fixed:
            has_digest = model.structure_sha256 != ""
            is_module = model.network == "module"
            require(has_digest == is_module, "structure_sha256 belongs to a module and to no other")

    with check("4.2"):
        if fixed:
            is_centre = model.source == "centre"
            is_learned = prior.kind == "learned"
            require(is_centre == is_learned, "source centre belongs to a learned prior")

    with check("4.3"):
        if model.answer_above != "":
            counted = c.predictor in ("draw", "fixed")
            require(counted, f"the predictor {c.predictor} cannot abstain")

    with check("4.4"):
        if c.predictor in SAMPLED:
            by_samples = c.evidence.kind == "monte-carlo"
            nonlinear = model.posterior == "k-nonlinear"
            words = f"the evidence of {model.posterior} cannot be {c.evidence.kind}"
            require(by_samples == nonlinear, words)

    with check("4.5"):
        if validation is not None:
            words = f"{validation.errors} errors on {validation.examples} validation examples"
            require(validation.errors <= validation.examples, words)

    with check("4.6"):
        if validation is not None and prior.kind == "learned":
            inside = validation.examples <= prior.part.examples
            require(inside, "more validation examples than the prior's part has")

    with check("4.7"):
        if prior.kind == "initialised":
            on_grid = all(variance.by == "grid" for variance in variances)
            require(on_grid, "a variance of an initialised prior must be on the grid")

    with check("4.8"):
        names = [variance.name for variance in variances]
        require(len(set(names)) == len(names), "two variances have the same name")

    with check("4.9"):
        if not fixed:
            total = sum(variance.parameters for variance in variances)
            words = f"the variances are of {total} parameters, the model has {model.parameters}"
            require(total == model.parameters, words)

    with check("4.10"):
        if not fixed:
            count = len(c.evidence.groups)
            require(count == len(variances), f"{count} groups for {len(variances)} variances")

    with check("4.11"):
        if variances and choices.variance_groups == "network" and not choices.blocks:
            require(len(variances) == 1, f"{len(variances)} variances for one network")

    with check("4.12"):
        if choices is not None:
            layers = [block.layer for block in choices.blocks]
            require(layers == sorted(set(layers)), "the layers of blocks must rise")


# ==================================================================================================
# 5 Claims
# ==================================================================================================


def _claimable(predictor: str, loss: str) -> tuple[str, ...]:
    """The subjects for which this predictor can make claims about this loss."""
    if predictor in ("draw", "fixed"):
        return ("all",) if loss == "abstention" else SUBJECTS
    if loss == "zero-one" or (loss == "cost" and predictor == "gibbs"):
        return ("all", "true-class", "group")
    return ()


def _family_totals(c: Record, subject: str) -> dict[tuple[str, str], tuple[int, int]]:
    """The number of claims and the sum of their m, for each pair (loss, cost) of this subject."""
    totals: dict[tuple[str, str], tuple[int, int]] = {}
    for claim in c.claims:
        if claim.subject == subject:
            pair = (claim.loss, claim.get("cost", ""))
            count, examples = totals.get(pair, (0, 0))
            totals[pair] = (count + 1, examples + claim.m)
    return totals


def section_5_claims(c: Record) -> None:
    with check("5.1"):
        for claim in c.claims:
            possible = claim.subject in _claimable(c.predictor, claim.loss)
            words = f"the predictor {c.predictor} cannot claim {claim.loss}, {claim.subject}"
            require(possible, words)

    with check("5.2"):
        for claim in c.claims:
            if claim.subject == "answered" or claim.loss == "abstention":
                require(c.model.answer_above != "", "a claim about answers needs answer_above")

    with check("5.3"):
        for claim in c.claims:
            if "class" in claim:
                exists = claim["class"] < c.data.classes
                require(exists, f"class {claim['class']} of {c.data.classes} classes")

    with check("5.4"):
        keys = [
            (
                SUBJECTS.index(claim.subject),
                LOSSES.index(claim.loss),
                claim.get("cost", ""),
                claim.get("class", 0),
                claim.get("group", ""),
            )
            for claim in c.claims
        ]
        require(keys == sorted(set(keys)), "claims are made twice, or not in their order")

    with check("5.5"):
        for claim in c.claims:
            if claim.subject == "all":
                words = f"a claim about all is about {claim.m} of {c.data.m} examples"
                require(claim.m == c.data.m, words)
            else:
                require(claim.m <= c.data.m, f"a claim about {claim.m} of {c.data.m} examples")

    with check("5.6"):
        for count, examples in _family_totals(c, "true-class").values():
            words = f"the classes have {examples} examples, of {c.data.m}"
            require(examples <= c.data.m, words)
            if count == c.data.classes:
                require(examples == c.data.m, words)

    with check("5.7"):
        for _, examples in _family_totals(c, "group").values():
            words = f"the groups have {examples} examples, of {c.data.m}"
            require(examples <= c.data.m, words)

    with check("5.8"):
        about_groups = any(claim.subject == "group" for claim in c.claims)
        has_digest = c.data.groups_sha256 != ""
        require(has_digest == about_groups, "groups_sha256 belongs to claims about groups")

    with check("5.9"):
        for claim in c.claims:
            if claim.get("sampler") == "per-example":
                dense = c.model.network in ("mlp", "module")
                gaussian = c.model.posterior != "k-nonlinear"
                words = f"{c.model.network}, {c.model.posterior}: no weights per example"
                require(dense and gaussian, words)


# ==================================================================================================
# 6 The budget
# ==================================================================================================


def section_6_budget(c: Record) -> None:
    with check("6.1"):
        shares = [claim.delta for claim in c.claims]
        if c.predictor in SAMPLED:
            shares += [claim.delta_risk for claim in c.claims]
            if c.evidence.kind == "monte-carlo":
                shares.append(c.evidence.delta_kl)
        total = sum((Fraction(share) for share in shares), Fraction(0))
        words = f"the shares add up to {_decimal_text(total)}, not to {c.delta}"
        require(total == Fraction(c.delta), words)


# ==================================================================================================
# 7 Seeds
# ==================================================================================================


def seed_for(c: Record, purpose: str) -> str:
    digests = f"{c.model.sha256} {c.prior.sha256} {c.data.sha256}"
    return hashlib.sha256(f"pacbound-seed/2 {purpose} {digests}\n".encode()).hexdigest()


def section_7_seeds(c: Record) -> None:
    seeds = c.get("seeds", Record())
    with check("7.1"):
        if "draw" in seeds:
            words = "seeds.draw does not follow from the digests"
            require(seeds.draw == seed_for(c, "draw"), words)

    with check("7.2"):
        if "risk" in seeds:
            words = "seeds.risk does not follow from the digests"
            require(seeds.risk == seed_for(c, "risk"), words)

    with check("7.3"):
        if "kl" in seeds:
            words = "seeds.kl does not follow from the digests"
            require(seeds.kl == seed_for(c, "kl"), words)


# ==================================================================================================
# 8 Code and ledger
# ==================================================================================================


def _position_cost(entry: str, words: tuple[str, ...]) -> Interval:
    return cost(words.index(entry) + 1)


def _total(costs: Sequence[Interval]) -> Interval:
    return sum(costs, enclose(0))


def _widths_cost(widths: list[int]) -> Interval:
    return cost(len(widths) + 1) + _total([cost(width) for width in widths])


def _blocks_cost(blocks: list[Record]) -> Interval:
    total = cost(len(blocks) + 1)
    for block in blocks:
        total += cost(block.layer) + cost(len(block.sizes) - 1)
        # The last size follows from the width of the layer.
        total += _total([cost(size) for size in block.sizes[:-1]])
    return total


def _choices_cost(c: Record) -> Interval:
    """The cost of the tuple of choices: the recipe's default has the weight 0.9."""
    kind, choices = c.prior.kind, c.prior.choices
    chosen = dict(choices)
    if kind == "initialised":
        chosen["network"] = c.model.network
    if chosen == default_choices(kind, c.model.recipe):
        return ln(Fraction(10, 9))
    total = ln(10) + cost(choices.seed + 1)
    total += _position_cost(choices.variance_groups, VARIANCE_GROUPS)
    total += _blocks_cost(choices.blocks)
    if kind == "learned":
        total += _position_cost(choices.prior_fraction, PRIOR_FRACTIONS)
        return total + cost(choices.split_seed + 1)
    total += _position_cost(choices.initializer, INITIALIZERS)
    if kind == "elsewhere":
        return total
    total += _position_cost(c.model.network, NETWORKS)
    total += _position_cost(choices.input_scale, INPUT_SCALES)
    total += _position_cost(choices.smoothing, SMOOTHING_LENGTHS)
    total += _position_cost(choices.alignment, ALIGNMENTS)
    total += _position_cost(choices.hidden_bias, HIDDEN_BIASES)
    total += _position_cost(choices.later_bias, HIDDEN_BIASES)
    return total + _widths_cost(choices.widths)


def _grid_cost(c: Record) -> Interval:
    """The cost of the variances that were chosen on the grid."""
    variances = c.prior.get("variances", [])
    return _total([cost(variance.index) for variance in variances if variance.by == "grid"])


def ln_certificates(c: Record) -> Interval:
    """ln F: one of a declared number of certificates, or the place in the order of making."""
    certificates = c.ledger.certificates
    if certificates.counted == "declared":
        return ln(certificates.number)
    return cost(certificates.number)  # F = π² · number²/6


def section_8_code_and_ledger(c: Record) -> None:
    with check("8.1"):
        code = _grid_cost(c)
        if c.prior.kind == "initialised":
            code += _position_cost(c.model.recipe, RECIPES)
        if c.prior.kind != "none":
            code += _choices_cost(c)
        require_due_nats("bound.code", c.bound.code, code)

    with check("8.2"):
        recipe, user = c.ledger.recipe, c.ledger.user
        ledger = ln(recipe.candidates * user.candidates) + (recipe.looks + user.looks) * ln(2)
        if c.predictor not in SAMPLED:
            ledger += ln_certificates(c)
        require_due_nats("bound.ledger", c.bound.ledger, ledger)


# ==================================================================================================
# 9 Divergence
# ==================================================================================================


def prior_variance(variance: Record) -> Interval:
    """λ, on the grid 0.1 · exp(−index/100) or given."""
    if variance.by == "grid":
        return exp(Fraction(-variance.index, 100)) / 10
    return enclose(Fraction(variance.value))


def _second_moment(c: Record, tail: str, group: Record, d: int) -> Interval:
    """T of SPEC.md 9.4: E‖W − Θ₀‖² or its upper limit; for a draw ‖w − Θ₀‖² itself."""
    if c.evidence.kind == "exact":
        return enclose(Fraction(group.trace) + Fraction(group.distance_sq))
    if c.evidence.kind == "drawn":
        return enclose(Fraction(group.distance_sq))
    samples: int = c.evidence.samples
    lipschitz = Fraction(group.lipschitz)
    mean_square = Fraction(group.mean_square)
    groups_over_share = len(c.evidence.groups) / Fraction(c.evidence.delta_kl)
    level = ln_certificates(c) + ln(groups_over_share)
    if tail == "gaussian":
        root = sqrt(mean_square) + lipschitz * sqrt(2 * level / samples)
        return root * root + lipschitz * lipschitz / samples
    norm = lipschitz * sqrt(6)
    norm += (lipschitz * sqrt(d) + Fraction(group.offset)) / sqrt(ln(2))
    excess = (level + sqrt(level * level + 8 * samples * level)) / samples
    return mean_square + norm * norm * excess


def divergences(c: Record, tail: str) -> list[Interval]:
    """KL(q‖p) of each group, or the logarithm of its density ratio for a draw."""
    parts = []
    for group, variance in zip(c.evidence.groups, c.prior.variances, strict=True):
        d, lam = variance.parameters, prior_variance(variance)
        moment = _second_moment(c, tail, group, d)
        spread = Fraction(group.noise_sq) if c.evidence.kind == "drawn" else d
        parts.append((moment / lam - spread + d * ln(lam)) / 2 - Fraction(group.log_det))
    return parts


def section_9_divergence(c: Record) -> None:
    if c.predictor == "fixed":
        return
    evidence = c.evidence
    sizes = [variance.parameters for variance in c.prior.variances]
    tolerance = Fraction(1, 10**9)

    with check("9.1"):
        if evidence.kind == "exact":
            for group, d in zip(evidence.groups, sizes, strict=True):
                most = ln(Fraction(group.trace) / d) * Fraction(d, 2) + d * tolerance
                words = f"log_det {group.log_det} is too large for the trace {group.trace}"
                require(at_most(Fraction(group.log_det), most), words)

    with check("9.2"):
        if evidence.kind == "monte-carlo":
            for group, d in zip(evidence.groups, sizes, strict=True):
                most = d * ln(Fraction(group.lipschitz)) + d * tolerance
                words = f"log_det {group.log_det} is too large for lipschitz {group.lipschitz}"
                require(at_most(Fraction(group.log_det), most), words)

    with check("9.3"):
        if evidence.kind == "drawn":
            for group, d in zip(evidence.groups, sizes, strict=True):
                noise_sq, far = Fraction(group.noise_sq), sqrt(200 * d)
                words = f"noise_sq {group.noise_sq} of {d} normal numbers"
                require(at_most(d - far, noise_sq), words)
                require(at_most(noise_sq, d + far + 100), words)

    with check("9.4"):
        parts = divergences(c, evidence.tail if evidence.kind == "monte-carlo" else "")
        require_due_nats("evidence.nats", evidence.nats, _total(parts))

    with check("9.5"):
        if evidence.kind == "drawn":
            ratio = Fraction(evidence.nats) + _grid_cost(c)
            words = f"a density ratio of {evidence.nats} nats is too unlikely"
            require(at_most(-50, ratio), words)

    with check("9.6"):
        if evidence.kind != "drawn":
            for variance, part in zip(c.prior.variances, parts, strict=True):
                words = f"the KL of the group {_shown(variance.name)} is negative: {part.hi:.6e}"
                require(at_most(-NATS_UNIT, part), words)


# ==================================================================================================
# 10 Counts and limits
# ==================================================================================================


def _trials(claim: Record) -> int:
    """n: the number of 0/1 outcomes or costs that were added up."""
    draws: int = claim.draws if "draws" in claim else claim.m
    return draws


def _draws_of_weights(claim: Record) -> int:
    return sum(times for _, times in claim.histogram)


def empirical_mean(claim: Record) -> Fraction:
    """x̄, exactly."""
    if "errors" in claim:
        return Fraction(claim.errors, _trials(claim))
    if "total" in claim:
        return Fraction(claim.total) / _trials(claim)
    total = sum(value * times for value, times in claim.histogram)
    return Fraction(total, claim.scale * _draws_of_weights(claim))


def _limit_predicate(c: Record, claim: Record) -> Predicate:
    """sound(p) for the upper confidence limit of the empirical risk."""
    level = ln_certificates(c) - ln(Fraction(claim.delta_risk))
    mean = empirical_mean(claim)

    if claim.sampler == "per-example":
        return lambda p: kl_sound(mean, level / claim.draws, p)
    if claim.limit_by == "chernoff":
        return lambda p: kl_sound(mean, level / _draws_of_weights(claim), p)

    def betting(p: Fraction) -> bool:
        factors = [1 + p - Fraction(value, claim.scale) for value, _ in claim.histogram]
        if min(factors) <= 0:
            return False
        wealth = product_of_powers(
            [enclose(factor) for factor in factors], [times for _, times in claim.histogram]
        )
        return at_most(level, ln(wealth))

    return betting


def section_10_counts_and_limits(c: Record) -> None:
    with check("10.1"):
        for claim in c.claims:
            if "errors" in claim:
                words = f"{claim.errors} errors of {_trials(claim)}"
                require(claim.errors <= _trials(claim), words)

    with check("10.2"):
        for claim in c.claims:
            if "total" in claim:
                words = f"a total cost of {claim.total} for {_trials(claim)} costs"
                require(Fraction(claim.total) <= _trials(claim), words)

    with check("10.3"):
        for claim in c.claims:
            if "draws" in claim:
                words = f"{claim.draws} draws are not a multiple of {claim.m}"
                require(claim.draws % claim.m == 0, words)

    with check("10.4"):
        for claim in c.claims:
            if "histogram" in claim:
                values = [value for value, _ in claim.histogram]
                require(values == sorted(set(values)), "the values of a histogram must rise")
                require(values[-1] <= claim.scale, "a value of a histogram is above its scale")
                seen = all(times >= 1 for _, times in claim.histogram)
                require(seen, "a value of a histogram was never seen")

    with check("10.5"):
        for claim in c.claims:
            mean, shown = empirical_mean(claim), Fraction(claim.empirical)
            words = f"empirical is {claim.empirical}, the mean is {float(mean):.12f}"
            require(mean <= shown, words)
            require(shown < mean + 2 * RATE_UNIT, words)

    sampled = c.predictor in SAMPLED

    with check("10.6"):
        limits = [(claim.limit, _limit_predicate(c, claim)) for claim in c.claims if sampled]
        for shown, sound in limits:
            require_sound("limit", shown, sound)

    with check("10.7"):
        for shown, sound in limits:
            require_least("limit", shown, sound)

    with check("10.8"):
        if not sampled:
            _require_agreement(c)


def _require_agreement(c: Record) -> None:
    """The errors given classes and groups go together with those over all."""
    judged = [claim for claim in c.claims if claim.loss == "zero-one"]
    overall = [claim.errors for claim in judged if claim.subject == "all"]
    errors_of_all = sum(overall)
    for subject in ("true-class", "predicted-class", "group"):
        members = [claim for claim in judged if claim.subject == subject]
        right = sum(claim.m - claim.errors for claim in members)
        words = f"{subject}: {right} right of {c.data.m} examples with {errors_of_all} errors"
        require(right <= c.data.m - errors_of_all, words)
        wrong = sum(claim.errors for claim in members)
        if overall and subject != "predicted-class":
            words = f"{subject}: {wrong} errors, there are {errors_of_all} in all"
            require(wrong <= errors_of_all, words)


# ==================================================================================================
# 11 Bounds
# ==================================================================================================


def _has_validation_examples(c: Record) -> bool:
    validation = c.prior.get("validation")
    return validation is not None and validation.examples >= 1


def inequality_of_the_rule(c: Record) -> str:
    if c.predictor == "fixed":
        return "binomial"
    if c.predictor == "draw":
        return "density" if c.prior.kind == "initialised" else "binomial"
    return "catoni" if _has_validation_examples(c) else "xi"


def _allowed_inequalities(c: Record) -> tuple[str, ...]:
    if c.predictor == "fixed":
        return ("binomial",)
    if c.predictor == "draw":
        return ("binomial", "density")
    return ("mcallester", "maurer", "xi", "catoni")


def _factor(c: Record) -> int:
    """φ: how many times the risk of its members a vote's risk can be."""
    return {"vote-gibbs": 2, "vote-tandem": 4}.get(c.predictor, 1)


def _total_nats(c: Record) -> Fraction:
    """N: divergence of one network or of a pair, code and ledger, as they are shown."""
    paid = Fraction(c.bound.code) + Fraction(c.bound.ledger)
    if c.predictor == "fixed":
        return paid
    networks = 2 if c.predictor == "vote-tandem" else 1
    return networks * Fraction(c.evidence.nats) + paid


def _complexity(inequality: str, total: Fraction, m: int, delta: Fraction) -> Interval:
    """c of the inequalities that are inverted by kl; m ≥ 2 for McAllester's."""
    if inequality in ("xi", "density"):
        return (total + ln(maurer_constant(m) / delta)) / m
    if inequality == "maurer":
        return (total + ln(2 * sqrt(m) / delta)) / m
    return (total + ln(m / delta)) / (m - 1)


def _tail_level(c: Record, delta: Fraction) -> Interval:
    """ℓ of the inequality `binomial`."""
    code, ledger = Fraction(c.bound.code), Fraction(c.bound.ledger)
    if c.predictor == "fixed":
        return code + ledger - ln(delta)
    x = Fraction(c.evidence.nats) + code
    # A = ln(e^x + e), in the form in which no exponential is large
    a = x + ln(1 + exp(1 - x)) if x > 1 else 1 + ln(1 + exp(x - 1))
    return ledger - ln(delta) + a + 2 * ln(a)


def catoni_parameter(validation: Record, m: int, delta: Fraction) -> Interval:
    """λ of Catoni's inequality, from errors on the prior's side."""
    q = Fraction(2 * validation.errors + 1, 2 * validation.examples + 2)
    c = (3 - ln(delta)) / m
    p = smaller(q + sqrt(2 * q * c) + c, (1 + q) / 2)
    return ln(p * (1 - q) / (q * (1 - p)))


def _bound_predicate(c: Record, claim: Record, inequality: str) -> Predicate:
    """sound(p) for the bound of a claim by this inequality."""
    m, delta = claim.m, Fraction(claim.delta)
    factor, total = _factor(c), _total_nats(c)
    q = Fraction(claim.limit) if c.predictor in SAMPLED else empirical_mean(claim)

    if inequality in ("mcallester", "pinsker") and m == 1:
        return lambda p: False  # only p ≥ 1 is sound

    if inequality == "binomial":
        level = _tail_level(c, delta)
        if claim.loss == "cost":
            return lambda p: kl_sound(q, level / m, p)
        return lambda p: binomial_sound(claim.errors, m, level, p)

    if inequality == "catoni":
        lam = catoni_parameter(c.prior.validation, m, delta)
        exponent = lam * q + (total - ln(delta)) / m
        catoni = factor * (1 - exp(-exponent)) / (1 - exp(-lam))
        return lambda p: at_most(catoni, p)

    if inequality == "pinsker":
        complexity = larger(_complexity("mcallester", total, m, delta), 0)
        pinsker = factor * (q + sqrt(complexity / 2))
        return lambda p: at_most(pinsker, p)

    complexity = _complexity(inequality, total, m, delta)
    return lambda p: kl_sound(q, complexity, p / factor)


def section_11_bounds(c: Record) -> None:
    inequality, selected = c.bound.inequality, c.bound.selected

    with check("11.1"):
        words = f"{inequality} is not an inequality for the predictor {c.predictor}"
        require(inequality in _allowed_inequalities(c), words)

    with check("11.2"):
        if inequality == "catoni":
            require(_has_validation_examples(c), "catoni needs a validation of the prior")

    with check("11.3"):
        of_the_rule = inequality == inequality_of_the_rule(c)
        words = f"selected is {selected}, the rule's inequality is {inequality_of_the_rule(c)}"
        require((selected == "rule") == of_the_rule, words)

    with check("11.4"):
        if selected == "candidate":
            words = "an inequality that was a candidate needs 2 candidates in the user's ledger"
            require(c.ledger.user.candidates >= 2, words)

    with check("11.5"):
        bounds = [(claim.bound, _bound_predicate(c, claim, inequality)) for claim in c.claims]
        for shown, sound in bounds:
            require_sound("bound", shown, sound)

    with check("11.6"):
        for shown, sound in bounds:
            require_least("bound", shown, sound)


# ==================================================================================================
# 12 Also
# ==================================================================================================


def _also_names(c: Record) -> tuple[str, ...]:
    if c.predictor == "fixed":
        return ()
    if c.predictor == "draw":
        return ("binomial", "density")
    names = ("mcallester", "maurer", "xi", "pinsker")
    return (*names, "catoni") if _has_validation_examples(c) else names


def _also_is_allowed(c: Record, entry: Record) -> bool:
    if entry.kind == "inequality":
        return entry.name in _also_names(c)
    if entry.kind == "held-out":
        return c.predictor not in VOTES
    return c.predictor != "fixed" and bool(c.evidence.kind == "monte-carlo")


def section_12_also(c: Record) -> None:
    entries = {kind: [entry for entry in c.also if entry.kind == kind] for kind in ALSO_KINDS}

    with check("12.1"):
        for entry in c.also:
            words = f"{entry.kind} {entry.get('name', '')} is not possible here"
            require(_also_is_allowed(c, entry), words)

    with check("12.2"):
        keys = [
            (ALSO_KINDS.index(entry.kind), ALSO_NAMES.index(entry.name) if "name" in entry else 0)
            for entry in c.also
        ]
        require(keys == sorted(set(keys)), "entries of also are twice, or not in their order")

    with check("12.3"):
        for entry in entries["inequality"]:
            sound = _bound_predicate(c, c.claims[0], entry.name)
            require_sound(f"the value of {entry.name}", entry.value, sound)
            require_least(f"the value of {entry.name}", entry.value, sound)

    with check("12.4"):
        for entry in entries["held-out"]:
            words = f"{entry.errors} errors on {entry.examples} held-out examples"
            require(entry.errors <= entry.examples, words)

    with check("12.5"):
        level = -ln(Fraction(c.delta))
        for entry in entries["held-out"]:
            sound = functools.partial(binomial_sound, entry.errors, entry.examples, level)
            require_sound("the held-out upper", entry.upper, sound)
            require_least("the held-out upper", entry.upper, sound)

    with check("12.6"):
        for entry in entries["theorem3"]:
            require_due_nats("the nats of theorem3", entry.nats, _total(divergences(c, "theorem3")))


# ==================================================================================================
# 13 The sentence
# ==================================================================================================


def _places(x: Fraction, places: int) -> str:
    """A nonnegative number that is a multiple of 10^−places, with exactly so many decimals."""
    digits = str(int(x * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def _percent(shown: str) -> tuple[Fraction, int]:
    """100x rounded up, and the number of decimals: 2, or 6 for small rates."""
    x = Fraction(shown)
    places = 2 if x >= Fraction(1, 1000) else 6
    return Fraction(math.ceil(100 * x * 10**places), 10**places), places


def pct(shown: str) -> str:
    """A rate in percent, rounded up."""
    percent, places = _percent(shown)
    return _places(percent, places)


def cov(shown: str) -> str:
    """What remains to 100 %."""
    percent, places = _percent(shown)
    return _places(100 - percent, places)


def conf(delta: str) -> str:
    """The confidence in percent, rounded down to 6 decimals."""
    rounded_up = Fraction(math.ceil(Fraction(delta) * 10**8), 10**6)
    return _places(100 - rounded_up, 6).rstrip("0").rstrip(".")


_OVER = {
    "gibbs": " and the Monte Carlo draws",
    "vote-gibbs": " and the Monte Carlo draws",
    "vote-tandem": " and the Monte Carlo draws",
    "draw": " and of the network",
    "fixed": "",
}
_WHO = {
    "gibbs": "the randomised predictor, which draws fresh weights for every prediction,",
    "vote-gibbs": "the majority vote of all networks, weighted by the posterior,",
    "vote-tandem": "the majority vote of all networks, weighted by the posterior,",
    "draw": "the one network that was drawn from the posterior,",
    "fixed": "the fixed predictor",
}


def _scope(claims: list[Record]) -> str:
    """Whom a family of claims speaks of."""
    first, several = claims[0], len(claims) > 1
    if first.subject == "all":
        return ""
    if first.subject == "answered":
        return " among the inputs that it answers"
    if first.subject == "true-class":
        if several:
            return f" on examples of each of {len(claims)} true classes"
        return f" on examples of true class {first['class']}"
    if first.subject == "predicted-class":
        if several:
            return f" where it predicts each of {len(claims)} classes"
        return f" where it predicts class {first['class']}"
    if several:
        return f" in each of {len(claims)} groups"
    return f" in the group “{first.group}”"


def clauses(c: Record) -> list[str]:
    """One clause for each family of claims, with the largest bound of the family."""
    families: dict[tuple[str, str, str], list[Record]] = {}
    for claim in c.claims:
        families.setdefault((claim.subject, claim.loss, claim.get("cost", "")), []).append(claim)
    result = []
    for (_, loss, cost_name), claims in families.items():
        largest = max((claim.bound for claim in claims), key=Fraction)
        if loss == "zero-one":
            result.append(f"its error{_scope(claims)} is at most {pct(largest)} %")
        elif loss == "abstention":
            result.append(f"it answers at least {cov(largest)} % of the inputs")
        else:
            subject = f"its mean cost “{cost_name}”{_scope(claims)}"
            result.append(f"{subject} is at most {pct(largest)} % of the unit")
    return result


def _notes(c: Record) -> list[str]:
    data, model, prior = c.data, c.model, c.prior
    notes = []
    if prior.kind == "learned":
        what = "predictor" if c.predictor == "fixed" else "prior"
        others = f"the other {prior.part.examples} examples of the data set"
        notes.append(f"The {what} was learned from {others}.")
    if prior.kind == "elsewhere":
        free = "declared to be free of the counted examples"
        notes.append(f"The prior is {free} (“{prior.origin}”).")
    if prior.kind == "none":
        fixed = "declared to have been fixed before the counted examples were seen"
        notes.append(f"The predictor is {fixed}.")
    if model.extractors:
        extractors = f"The extractors of its inputs (number: {len(model.extractors)})"
        notes.append(f"{extractors} are declared to be free of the counted examples.")
    if model.answer_above != "":
        where = f"It answers where its confidence is above {model.answer_above}"
        fixed = "declared to have been fixed without the counted examples"
        notes.append(f"{where}, a threshold that is {fixed}.")
    candidates = c.ledger.recipe.candidates * c.ledger.user.candidates
    looks = c.ledger.recipe.looks + c.ledger.user.looks
    counted, number = c.ledger.certificates.counted, c.ledger.certificates.number
    if candidates > 1 or looks > 0 or counted == "place" or number > 1:
        place = "place in the order of certificates" if counted == "place" else "certificates"
        tried = f"candidates {candidates}, adaptive looks {looks}, {place} {number}"
        notes.append(f"Declared and paid for: {tried}.")
    copies = f"Exact copies among the {data.examples} examples: {data.duplicates}"
    if data.duplicates > 0 and data.copies == "counted":
        notes.append(f"{copies}.")
    if data.duplicates > 0 and data.copies == "independent":
        notes.append(f"{copies}, declared to be independent examples.")
    if data.copies == "unknown":
        notes.append("Copies among the examples cannot be detected.")
    return notes


def sentence(c: Record) -> str:
    """What a certificate says, in words."""
    over = f"over the draw of the {c.data.m} counted examples{_OVER[c.predictor]}"
    holds = f"the following holds for {_WHO[c.predictor]} on new data from the same distribution"
    head = f"With probability at least {conf(c.delta)} % {over}, {holds}: "
    return " ".join([head + "; ".join(clauses(c)) + ".", *_notes(c)])


def section_13_sentence(c: Record) -> None:
    with check("13.1"):
        require(c.sentence == sentence(c), "the sentence does not say what the figures say")


# ==================================================================================================
# The verdict on a file, and the command line
# ==================================================================================================

_SECTIONS = (
    section_2_shape,
    section_3_data,
    section_4_model_and_prior,
    section_5_claims,
    section_6_budget,
    section_7_seeds,
    section_8_code_and_ledger,
    section_9_divergence,
    section_10_counts_and_limits,
    section_11_bounds,
    section_12_also,
    section_13_sentence,
)
_NOT_JSON = ("1.1", "1.2", "1.3", "1.4")


def verify(content: bytes) -> Verdict:
    """The verdict on the bytes of a certificate."""
    try:
        certificate = section_1_reading(content)
        for section in _SECTIONS:
            section(certificate)
    except Rejected as rejection:
        exit_code = 2 if rejection.number in _NOT_JSON else 1
        return Verdict(False, rejection.number, rejection.text, exit_code)
    except Exception as error:  # none is known; a hostile file must not end the checker
        return Verdict(False, reason=f"cannot be evaluated ({type(error).__name__})", exit_code=1)
    overall = _overall_claim(certificate)
    c = certificate
    about = f"{c.predictor}, {c.data.name[:50]}, m = {c.data.m}"
    claimed = "; ".join(clauses(c))
    return Verdict(
        accepted=True,
        risk_bound=None if overall is None else Decimal(overall.bound),
        delta=Decimal(c.delta),
        summary=f"with probability at least {conf(c.delta)} % {claimed} ({about})",
        certificate=certificate,
    )


def _overall_claim(c: Record) -> Record | None:
    """The claim about the error on all inputs, if there is one."""
    for claim in c.claims:
        if claim.subject == "all" and claim.loss == "zero-one":
            return Record(claim)
    return None


def _unmet_demand(c: Record, max_risk: Decimal, max_class_risk: Decimal, model_sha256: str) -> str:
    """What the user demands of a correct certificate and it does not have; empty if nothing."""
    # Every bound is at most 1, so a demand of 1 demands nothing.
    if max_risk < 1:
        overall = _overall_claim(c)
        if overall is None:
            return "it makes no claim about the error on all inputs"
        if Decimal(overall.bound) > max_risk:
            return f"its risk bound {overall.bound} is over {max_risk}"
    if max_class_risk < 1:
        of_classes = [x for x in c.claims if x.subject == "true-class" and x.loss == "zero-one"]
        if len(of_classes) < c.data.classes:
            return f"it claims the error of {len(of_classes)} true classes of {c.data.classes}"
        for claim in of_classes:
            if Decimal(claim.bound) > max_class_risk:
                bound = f"its risk bound {claim.bound} for class {claim['class']}"
                return f"{bound} is over {max_class_risk}"
    if model_sha256 not in ("", c.model.sha256):
        if c.model.get("source") in ("estimator", "onnx", "predictions"):
            return "it is for another file"
        return "it is for other tensors: model.sha256 is the digest of tensors, not of a file"
    return ""


def check_file(
    path: str,
    max_risk: Decimal = Decimal(1),
    checkpoint: str = "",
    max_class_risk: Decimal = Decimal(1),
    model_sha256: str = "",
) -> Verdict:
    """The verdict on a file, and on what the user demands of it.

    Arguments:
        max_risk: Reject a larger bound on the error, or none.
        checkpoint: Reject a certificate that is not for the bytes of this file.
        max_class_risk: Reject a larger bound on the error given a true class, or a class without.
        model_sha256: Reject a certificate whose `model.sha256` is another.
    """
    try:
        for name in (path, checkpoint):
            if os.path.exists(name) and not os.path.isfile(name):
                reason = f"{name} cannot be read: it is not a regular file"
                return Verdict(False, reason=reason, exit_code=2)
        with open(path, "rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if checkpoint:
            with open(checkpoint, "rb") as stream:
                model_sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        reason = f"{error.filename} cannot be read: {error.strerror}"
        return Verdict(False, reason=reason, exit_code=2)
    except ValueError:  # a name that no file can have
        return Verdict(False, reason="cannot be read: not the name of a file", exit_code=2)
    verdict = verify(content)
    if verdict.certificate is None:
        return verdict
    unmet = _unmet_demand(verdict.certificate, max_risk, max_class_risk, model_sha256)
    if unmet:
        return Verdict(False, reason=unmet, exit_code=1)
    return verdict


def main(argv: Sequence[str] | None = None) -> int:
    """Print one line for each file; 0: all hold, 1: one is rejected, 2: one cannot be read."""
    parser = argparse.ArgumentParser(description="Check pacbound risk certificates.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument(
        "--max-risk", metavar="X", type=float, default=1.0, help="reject a larger bound, or none"
    )
    parser.add_argument(
        "--max-class-risk",
        metavar="X",
        type=float,
        default=1.0,
        help="reject a larger bound for a true class, or a class without one",
    )
    parser.add_argument(
        "--checkpoint", metavar="FILE", default="", help="the file that they must be for"
    )
    parser.add_argument(
        "--model-sha256", metavar="DIGEST", default="", help="the model that they must be for"
    )
    options = parser.parse_args(argv)
    for name in ("max_risk", "max_class_risk"):
        if not 0 <= getattr(options, name) <= 1:
            parser.error(f"--{name.replace('_', '-')} must be in [0, 1]")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # it may lack the quotation marks of names
    worst = 0
    for path in options.files:
        verdict = check_file(
            path,
            Decimal(repr(options.max_risk)),
            options.checkpoint,
            Decimal(repr(options.max_class_risk)),
            options.model_sha256,
        )
        print(verdict.line(path))
        worst = max(worst, verdict.exit_code)
    return worst


if __name__ == "__main__":
    sys.exit(main())
