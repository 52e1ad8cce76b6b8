"""Rounding: a float that is proved above is above in both of its readings."""

from __future__ import annotations

import math
import subprocess
import sys
from contextlib import nullcontext
from decimal import Decimal
from fractions import Fraction

from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from pacbound.bounds.rounding import (
    exact,
    highest,
    lowest,
    precise,
    round_down,
    round_up,
    smallest_float,
)

finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(st.fractions())
def test_rounding_brackets_both_readings(number: Fraction) -> None:
    with precise():
        interval = exact(number)
        up, down = round_up(interval), round_down(interval)
    for reading in (Fraction, lambda x: Fraction(repr(x))):
        assert reading(down) <= number <= reading(up)
    assert up - down <= 4 * max(math.ulp(up), math.ulp(down))


@given(finite)
def test_readings_enclose_the_float_and_its_decimal(x: float) -> None:
    for context in (precise(), nullcontext()):  # also at 53 bits, too few for the decimal
        with context:
            assert not lowest(x) > exact(x) and not highest(x) < exact(x)
            assert not lowest(x) > exact(repr(x)) and not highest(x) < exact(repr(x))


def test_a_decimal_has_one_reading() -> None:
    with precise():
        assert lowest(Decimal("0.1")).overlaps(highest(Decimal("0.1")))
        assert lowest(0.1) < highest(0.1)


def test_nothing_is_below_a_nan() -> None:
    assert round_up(arb("nan")) == math.inf
    assert round_down(arb("nan")) == -math.inf


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_smallest_float_finds_it_from_any_guess(target: float, guess: float, low: float) -> None:
    assert smallest_float(lambda p: p >= target, guess, low) == max(target, low)


def test_smallest_float_is_one_when_nothing_is_proved() -> None:
    assert smallest_float(lambda p: False, 0.5, 0.2) == 1.0


def test_the_bounds_do_not_import_torch() -> None:
    code = (
        "import sys, pkgutil, importlib, pacbound.bounds as b\n"
        "for module in pkgutil.iter_modules(b.__path__, 'pacbound.bounds.'):\n"
        "    importlib.import_module(module.name)\n"
        "sys.exit('torch' in sys.modules or 'numpy' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
