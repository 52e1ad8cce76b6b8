"""What a learning curve extrapolates to."""

from __future__ import annotations

from typing import Any

import pytest

from pacbound.experiments.vi.learning import extrapolated


def trained(errors: dict[int, float], error: float) -> dict[str, Any]:
    curve = [{"epoch": epoch, "test_error": value} for epoch, value in errors.items()]
    return {"curve": [{"epoch": 0}, *curve], "evaluation": {"error": error}}


def test_a_hyperbola_is_continued_from_the_error_of_all_examples() -> None:
    # The first two thirds are noise, which must have no influence.
    errors = {n: 0.9 if n <= 20 else 0.12 + 1.5 / n for n in range(1, 31)}
    expected = 0.16 + 1.5 / 210 - 1.5 / 30
    assert extrapolated(trained(errors, 0.16)) == pytest.approx(expected)


def test_a_rising_error_rises_further() -> None:
    found = extrapolated(trained({n: 0.1 + 0.001 * n for n in range(1, 31)}, 0.13))
    assert found is not None
    assert 0.13 < found < 0.2


@pytest.mark.parametrize("last", [0, 1, 9])
def test_no_guess_from_a_few_epochs(last: int) -> None:
    assert extrapolated(trained(dict.fromkeys(range(1, last + 1), 0.2), 0.2)) is None


def test_errors_are_shares() -> None:
    assert extrapolated(trained({n: 0.01 + 3 / n for n in range(1, 31)}, 0.02)) == 0.0


def test_an_older_result_has_no_curve() -> None:
    assert extrapolated({"evaluation": {"error": 0.1}}) is None
