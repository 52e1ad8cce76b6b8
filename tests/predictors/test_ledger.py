"""The recipes' confession: what applies to which data, and that it cannot be taken back."""

from __future__ import annotations

import dataclasses

import pytest

from pacbound.errors import PacboundError
from pacbound.predictors.ledger import Tried, _ledger, recipe_ledger
from pacbound.recipes import lineage, parse_override, recipe, recipe_names

change = dataclasses.replace
OTHER = "0" * 64
[MNIST] = _ledger()["data"]["mnist"]


@pytest.mark.parametrize(
    ("name", "changes", "looks"),
    [
        ("mlp-600", {}, 50),
        ("mlp-600x2", {}, 50),
        ("mlp-30", {}, 50),
        ("mlp-30-deskewed", {}, 50),
        ("lenet-5", {}, 50),
        ("lenet-small", {}, 50),
        ("lenet-small-deskewed", {}, 50),
        ("mlp-600", {"prior_fraction": 0.5}, 4),
        ("mlp-600-learned", {}, 4),
        ("lenet-5-learned", {}, 4),
        ("fashion-lenet-learned", {}, 4),
        ("module", {}, 0),
        ("table", {}, 0),
    ],
)
def test_what_was_tried_for_a_recipe_on_its_own_data(
    name: str, changes: dict[str, object], looks: int
) -> None:
    assert recipe_ledger(recipe(name, changes), OTHER) == Tried(1, looks)


def test_looks_count_by_name_or_by_content_and_nowhere_else() -> None:
    settings = recipe("mlp-600")
    mine = change(settings, data="mine.npz")
    assert recipe_ledger(mine, OTHER) == Tried()
    assert recipe_ledger(mine, MNIST) == Tried(1, 50)  # a copy of it in a file
    assert recipe_ledger(change(settings, data="fashion-mnist"), OTHER) == Tried()
    assert recipe_ledger(change(settings, recipe="my own"), MNIST) == Tried()


@pytest.mark.parametrize("fraction", [0.0, 0.5])
@pytest.mark.parametrize("table", ["breast-cancer", "digits"])
def test_tables_that_the_estimator_was_tried_on(table: str, fraction: float) -> None:
    settings = recipe("table", {"data": "(given)", "prior_fraction": fraction})
    for digest in _ledger()["data"][table]:
        assert recipe_ledger(settings, digest) == Tried(1, 20)
        assert recipe_ledger(change(settings, recipe="module"), digest) == Tried()


def test_no_setting_but_the_kind_of_the_prior_changes_it() -> None:
    settings = recipe("mlp-600")
    for changed in (
        change(settings, hidden=(30,), hidden_bias=0.0),
        change(settings, prior_seed=7, seed=3, posterior="diag"),
        recipe("mlp-600", {"protocol": "paper"}),
    ):
        assert recipe_ledger(changed, MNIST) == Tried(1, 50)


def test_the_file_names_recipes_kinds_and_data_that_exist() -> None:
    content = _ledger()
    keys = {"recipes", "prior", "data", "looks", "tried"}
    seen = set()
    for entry in content["entries"]:
        assert keys <= set(entry) <= keys | {"candidates"}
        assert entry["prior"] in ("initialised", "learned")
        assert entry["data"] in content["data"]
        for name in entry["recipes"]:
            assert name in recipe_names()
            key = name, entry["prior"], entry["data"]
            assert key not in seen
            seen.add(key)
    # A recipe inherits the looks of those that it is based on.
    for name in {name for name, _, _ in seen}:
        for base in lineage(name):
            assert {k[1:] for k in seen if k[0] == base} <= {k[1:] for k in seen if k[0] == name}


def test_nats_add_up() -> None:
    assert Tried(3, 4) + Tried(5, 6) == Tried(15, 10)
    for wrong in ((0, 0), (1, -1)):
        with pytest.raises(PacboundError, match="candidates must be 1 or more"):
            Tried(*wrong)


def test_who_sets_trials_is_told_what_to_declare() -> None:
    with pytest.raises(PacboundError, match=r"candidates .* looks") as refusal:
        recipe("mlp-600", dict([parse_override("trials=20")]))
    assert "\n" not in str(refusal.value)
