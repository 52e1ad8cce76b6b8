"""The choice among a recipe's candidates: who makes it, and that it is made once."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import pacbound
from pacbound.data import Dataset
from pacbound.priors.split import split_of
from pacbound.recipes import candidate_keys, candidates, listed_candidates, recipe, recipe_text
from pacbound.recipes.commands import train_command
from pacbound.training import choosing
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.choosing import choose, chosen_network
from pacbound.training.learned_prior import learn_prior

SETTINGS = recipe("table", {"data": "(given)", "prior_batch": 20, "epochs": 2})


def made(m: int = 60) -> Dataset:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, m)
    inputs = generator.normal(2.0 * labels[:, None], 1.0, (m, 3)).astype(np.float32)
    return Dataset("made", inputs, labels, None, None, 2)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[Dataset]:
    """Candidates that need no training to be validated, and the examples that they were given."""
    seen: list[Dataset] = []

    def validated(settings: Any, part: Dataset, **more: Any) -> Any:
        assert settings.prior_validation == choosing.VALIDATION
        seen.append(part)
        wrong = {(): 7, (50,): 3, (100, 100): 3}[settings.hidden]
        return type("Learned", (), {"validation": (9, wrong), "center": {}})

    monkeypatch.setattr(choosing, "_borne_spread", lambda settings, unseen, center: 0.125)
    monkeypatch.setattr(choosing, "learned_prior", type("M", (), {"learn_prior": validated}))
    return seen


def test_the_candidates_are_those_of_the_file() -> None:
    listed = yaml.safe_load(recipe_text("table"))["candidates"]
    assert listed_candidates("table") == listed
    found = candidates(SETTINGS)
    assert len(found) == len(listed) > 1
    for settings, entry in zip(found, listed, strict=True):
        assert settings.prior_choice == "none"
        values = settings.everything()
        assert all(values[key] == value for key, value in entry.items())
        others = set(values) - set(entry) - {"prior_choice"}
        assert all(values[key] == SETTINGS.everything()[key] for key in others)


def test_the_first_with_the_fewest_errors_is_chosen(quick: list[Dataset]) -> None:
    data = made()
    split = split_of(SETTINGS, data)
    chosen = choose(candidates(SETTINGS), split.learned_data(data))
    assert chosen.settings.hidden == (50,) and chosen.settings.prior_spread == 0.125
    assert (chosen.errors, chosen.examples) == ((7, 7, 3, 3, 3), 9)
    counted = {row.tobytes() for row in split.counted_data(data).digests}
    assert len(quick) == 5
    for part in quick:
        assert not counted & {row.tobytes() for row in part.digests}


def test_many_examples_need_no_more_epochs(
    quick: list[Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "FEW", 10)
    assert len(choose(candidates(SETTINGS), made()).errors) == 4


@pytest.mark.parametrize("given", [{"hidden": []}, {"prior_epochs": 3}, {"prior_choice": "none"}])
def test_what_is_given_is_not_chosen(quick: list[Dataset], given: dict[str, Any]) -> None:
    settings = recipe("table", {"data": "(given)", **given})
    assert chosen_network(settings, made()) == settings
    assert not quick
    assert {"hidden", "prior_epochs"} <= candidate_keys("table")
    assert not candidate_keys("mlp-600") and not candidate_keys("of my own")


def test_a_run_that_goes_on_keeps_its_network(quick: list[Dataset]) -> None:
    last = candidates(SETTINGS)[-1]
    before = dataclasses.replace(last, epochs=1, seed=3)
    assert chosen_network(SETTINGS, made(), before) == last
    calm = dataclasses.replace(before, prior_spread=0.0625)
    assert chosen_network(SETTINGS, made(), calm) == dataclasses.replace(last, prior_spread=0.0625)
    assert not quick


def test_noise_is_limited_by_what_the_network_bears_on_new_examples() -> None:
    """The network fits its part, overlap included: its margins there say little about noise."""
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 2, 1000)
    inputs = generator.normal(size=(1000, 20)) * (2 - labels[:, None]) + 0.45 * labels[:, None]
    data = Dataset("ring", inputs.astype(np.float32), labels, None, None, 2)
    large = {"hidden": [50], "initializer": "he-normal", "prior_learning_rate": 0.01}
    settings = recipe("table", {"data": "(given)", "prior_choice": "none", **large})
    settings = dataclasses.replace(settings, prior_batch=20, prior_scaling="none")
    part = split_of(settings, data).learned_data(data)
    chosen = choose([settings], part).settings
    seen = learn_prior(settings, part).variances
    limited = learn_prior(chosen, part).variances
    assert chosen.prior_spread < 0.5
    assert all(new < old for new, old in zip(limited, seen, strict=True))
    given = dataclasses.replace(settings, prior_spread=0.001)
    assert choose([given], part).settings.prior_spread == 0.001


def test_training_records_what_was_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [{"prior_epochs": 2}, {"prior_epochs": 3, "hidden": [4], "initializer": "he-normal"}]
    monkeypatch.setattr("pacbound.recipes.listed_candidates", lambda name: few)
    data, path = made(), tmp_path / "a.pt"
    settings = dataclasses.replace(SETTINGS, epochs=1)
    pacbound.StochasticModule(settings).fit(data, checkpoint=path, progress=False)
    saved = Checkpoint.load(path).settings
    alike = {"data": saved.data, "prior_spread": saved.prior_spread}
    assert saved in [dataclasses.replace(s, **alike) for s in candidates(settings)]
    assert saved.prior_spread < 1
    named = dataclasses.replace(saved, data="made.csv")
    assert f"--set prior_epochs={saved.prior_epochs}" in train_command(named, "a.pt")
    more = pacbound.StochasticModule(dataclasses.replace(settings, epochs=2))
    more.fit(data, checkpoint=path, resume=True, progress=False)
    assert Checkpoint.load(path).settings.hidden == saved.hidden
