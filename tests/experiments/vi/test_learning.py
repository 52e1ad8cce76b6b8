"""What a learning curve extrapolates to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pacbound.experiments.vi.learning import extrapolated
from pacbound.experiments.vi.page import training_table


def trained(errors: dict[int, float], error: float) -> dict[str, Any]:
    curve = [{"epoch": epoch, "test_error": value} for epoch, value in errors.items()]
    settings = {"epochs": len(errors)}
    return {"curve": [{"epoch": 0}, *curve], "evaluation": {"error": error}, "settings": settings}


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


def test_only_the_last_phase_is_continued() -> None:
    record = trained({n: 0.12 + 1.5 / n for n in range(1, 31)}, 0.16)
    assert extrapolated(record | {"settings": {"epochs": 12}}) is not None  # its third is 4 epochs
    assert extrapolated(record | {"settings": {"epochs": 8}}) is None
    # A continued run has the epochs before it in its number of epochs.
    continued = {"epochs": 30, "earlier_epochs": 18}
    assert extrapolated(record | {"settings": continued}) is not None
    assert extrapolated(record | {"settings": continued | {"earlier_epochs": 22}}) is None


def test_errors_are_shares() -> None:
    assert extrapolated(trained({n: 0.01 + 3 / n for n in range(1, 31)}, 0.02)) == 0.0


def test_an_older_result_has_no_curve() -> None:
    assert extrapolated({"evaluation": {"error": 0.1}}) is None


def test_the_page_shows_what_training_cost_and_where_it_is_heading(tmp_path: Path) -> None:
    training = {"epochs": 30, "seconds": 5400.0}
    new = trained({n: 0.12 + 1.5 / n for n in range(1, 31)}, 0.16)
    older = {"evaluation": {"error": 0.1}, "training": training}
    records = {
        "diag": new | {"training": training | {"peak_memory": 3 * 2**29}},
        "k-diag": older,
    }
    for posterior, record in records.items():
        settings = {"recipe": "vi-lenet-5", "posterior": posterior, "epochs": 30}
        text = json.dumps(record | {"settings": settings})
        (tmp_path / f"lenet-5-{posterior}.json").write_text(text)
    assert training_table(tmp_path).splitlines()[2:] == [
        "| lenet-5, diag | 30 | 90 | 1.5 | 11.71 |",
        "| lenet-5, k-diag | 30 | 90 | – | – |",
    ]
