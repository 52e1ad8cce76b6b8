"""Codes and ledger: the issuer's lists are the checker's, and the figures those of SPEC.md."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pacbound.bounds import codes
from pacbound.bounds.figures import nats_up
from pacbound.bounds.rounding import exact, precise
from pacbound.certificate import checker

NAMES = (
    "RECIPES",
    "NETWORKS",
    "INITIALIZERS",
    "INPUT_SCALES",
    "SMOOTHING_LENGTHS",
    "ALIGNMENTS",
    "HIDDEN_BIASES",
    "PRIOR_FRACTIONS",
    "VARIANCE_GROUPS",
)


@pytest.mark.parametrize("name", NAMES)
def test_lists_are_those_of_the_checker(name: str) -> None:
    assert getattr(codes, name) == getattr(checker, name)


def tupled(choices: dict[str, Any] | None) -> dict[str, Any] | None:
    if choices is None:
        return None
    return {k: tupled_value(v) for k, v in choices.items()}


def tupled_value(value: Any) -> Any:
    """Lists, and blocks with their names, as tuples."""
    if isinstance(value, dict):
        return value["layer"], tuple(value["sizes"])
    return tuple(map(tupled_value, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("kind", ["initialised", "learned", "elsewhere"])
@pytest.mark.parametrize("recipe", codes.RECIPES)
def test_default_tuples_are_those_of_the_checker(kind: str, recipe: str) -> None:
    assert tupled(codes.default_choices(kind, recipe)) == tupled(
        checker.default_choices(kind, recipe)
    )


def test_figures_of_the_specification() -> None:
    table = codes.default_choices("initialised", "table")
    assert table is not None
    assert codes.code_cost("initialised", "table", table, [], 1.0) == pytest.approx(
        0.6030608181285716487019, rel=1e-14
    )
    wide = codes.default_choices("initialised", "mlp-600")
    assert wide is not None
    wide |= {"input_scale": "1", "smoothing": "0", "hidden_bias": "0", "variance_groups": "network"}
    assert codes.code_cost("initialised", "mlp-600", wide, [], 1.0) == pytest.approx(
        33.91412054334990116505, rel=1e-14
    )
    blocks = wide | {"blocks": ((1, (30, 570)),)}
    none = codes.choices_cost("initialised", "mlp-600", wide, 1.0)
    more = codes.choices_cost("initialised", "mlp-600", blocks, 1.0)
    assert more - none + math.log(math.pi**2 / 6) == pytest.approx(10.17949033432718275956)
    assert codes.ledger_cost(3, 4, 1.0) == pytest.approx(3.871201010907890929064)
    place = codes.certificates_factor("place", 2, 1.0)
    assert math.log(place) == pytest.approx(1.883994663590635966309)
    assert codes.certificates_factor("declared", 7, 1.0) == 7


def test_weights_of_tuples_add_up_to_at_most_one() -> None:
    """Over all tuples of a learned prior with small seeds; the rest of them have the rest."""
    total = 0.0
    for seed in range(40):
        for split_seed in range(40):
            for fraction in codes.PRIOR_FRACTIONS:
                for groups in codes.VARIANCE_GROUPS:
                    chosen = {
                        "seed": seed,
                        "prior_fraction": fraction,
                        "split_seed": split_seed,
                        "variance_groups": groups,
                        "blocks": (),
                    }
                    total += math.exp(-codes.choices_cost("learned", "table", chosen, 1.0))
    assert 0.9 < total < 1


def test_nothing_costs_nothing() -> None:
    with precise():
        one = exact(1)
        assert nats_up(codes.ledger_cost(1, 0, one)) == 0
        assert nats_up(codes.code_cost("none", "", {}, [], one)) == 0
