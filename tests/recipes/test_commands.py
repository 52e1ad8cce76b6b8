"""The printed training command, read as the command line reads it, is the run it stands for."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacbound.networks.initializers import INITIALIZERS
from pacbound.posteriors import POSTERIORS
from pacbound.recipes import Settings, parse_override, recipe, recipe_names
from pacbound.recipes.commands import OPTIONS, train_command
from pacbound_cli.train import train

NOISY = [name for name, kind in POSTERIORS.items() if kind.has_noise]


def run_of(command: str) -> tuple[Settings, str]:
    """The settings and the output that `pacbound train` would take from a shell's line."""
    program, subcommand, *words = shlex.split(command)
    assert (program, subcommand) == ("pacbound", "train")
    values = train.make_context("train", words).params
    flags = {key: values[key] for key in OPTIONS if values[key] is not None}
    overrides = dict(parse_override(text) for text in values["overrides"])
    assert not values["resume"]
    assert not values["force"]
    return recipe(values["recipe"], {**flags, **overrides}), str(values["output"])


# Not in the paper.
OURS_ALONE = [name for name in recipe_names() if name.endswith(("-learned", "-blocks", "-lean"))]


@st.composite
def settings(draw: st.DrawFn) -> Settings:
    rate = st.floats(1e-9, 1e3)
    few = st.integers(1, 1000)
    changes: dict[str, st.SearchStrategy[Any]] = {
        "protocol": st.sampled_from(["ours", "paper"]),
        "posterior": st.sampled_from(NOISY),
        "data": st.text(min_size=1).filter(lambda name: "\x00" not in name and name.isprintable()),
        "objective": st.sampled_from(["quadratic", "catoni-trained", "pinsker"]),
        "initializer": st.sampled_from(list(INITIALIZERS)),
        "prior_seed": st.integers(0, 10**6),
        "input_scale": st.sampled_from([1.0, 1.5, 0.25]),
        "smoothing": st.floats(0, 100),
        "alignment": st.sampled_from(["none", "deskew"]),
        "hidden_bias": st.floats(-100, 100),
        "variance_groups": st.sampled_from(["layer", "network"]),
        "prior_variance": st.sampled_from(["profiled", "trained", "fixed"]),
        "fixed_variance": st.sampled_from([1.0, 0.1]),
        "start": st.sampled_from(["prior", *INITIALIZERS]),
        "beta": st.sampled_from([1.0, 0.1, 0.5]),
        "beta_annealing": st.floats(0, 1),
        "augmentation": st.sampled_from(["none", "flip-crop"]),
        "initial_scale": st.lists(st.floats(1e-6, 10), min_size=1, max_size=4),
        "flow": st.sampled_from(["iaf", "realnvp"]),
        "flow_hidden": st.lists(few, max_size=3),
        "flow_learning_rate": rate,
        "learning_rate": rate,
        "schedule": st.sampled_from(["cosine", "constant"]),
        "epochs": few,
        "batch": few,
        "weight_draws": few,
        "averaging": st.floats(0, 1, exclude_max=True),
        "delta": st.floats(1e-9, 0.5),
        "seed": st.integers(0, 10**9),
    }
    chosen = draw(st.sets(st.sampled_from(list(changes))))
    values = {key: draw(changes[key]) for key in sorted(chosen)}
    if draw(st.booleans()):
        lenet = st.fixed_dictionaries(
            {"network": st.just("lenet"), "hidden": st.lists(few, min_size=3, max_size=3)}
        )
        dense = st.fixed_dictionaries(
            {"network": st.just("mlp"), "hidden": st.lists(few, max_size=30)}
        )
        values |= {**draw(lenet | dense), "batch_norm": False}
    if values.get("posterior") == "k-nonlinear" and draw(st.booleans()):
        values["linear_epochs"] = draw(st.integers(0, 100))
    name = draw(st.sampled_from(recipe_names()))
    if name in OURS_ALONE:
        values.pop("protocol", None)
    if recipe(name).blocks:
        values.pop("variance_groups", None)
    if recipe(name).input_shift:  # for variational inference alone
        values.pop("objective", None)
    if values.get("batch_norm"):
        values["prior_fraction"] = 0.0
    return recipe(name, values)


@given(settings(), st.sampled_from(["a.pt", "my runs/ours.pt", "it's.pt", "-a.pt", "$HOME;.pt"]))
def test_the_command_gives_the_same_settings_back(settings: Settings, output: str) -> None:
    command = train_command(settings, output)
    assert "\n" not in command
    assert run_of(command) == (settings, output)


@pytest.mark.parametrize(
    ("name", "protocol"),
    [(name, "ours") for name in recipe_names()]
    + [(name, "paper") for name in recipe_names() if name not in OURS_ALONE],
)
@pytest.mark.parametrize("posterior", NOISY)
def test_a_recipe_as_it_is_has_a_short_command(name: str, protocol: str, posterior: str) -> None:
    """Nothing that follows from recipe, protocol and posterior is repeated."""
    settings = recipe(name, {"protocol": protocol, "posterior": posterior})
    command = train_command(settings, "a.pt")
    expected = f"pacbound train {name}"
    if protocol != "ours":
        expected += f" --protocol {protocol}"
    if posterior != recipe(name).posterior:
        expected += f" --posterior {posterior}"
    assert command == f"{expected} -o a.pt"
    assert run_of(command) == (settings, "a.pt")


@pytest.mark.parametrize("rate", [1e-5, 3e-05, 1e-16, 2.5e-7, 1e16])
def test_small_and_large_numbers_are_read_as_numbers(rate: float) -> None:
    """YAML reads JSON's 1e-05 as a text."""
    settings = recipe("mlp-600", {"flow_learning_rate": rate, "learning_rate": rate})
    assert run_of(train_command(settings, "a.pt"))[0] == settings


def test_another_network_than_the_recipes() -> None:
    """Neither of the two settings is valid with the recipe's own value of the other."""
    settings = recipe("mlp-600", {"network": "lenet", "hidden": [20, 50, 500]})
    assert run_of(train_command(settings, "a.pt"))[0] == settings


def test_settings_of_a_recipe_that_is_not_built_in_have_a_command_too() -> None:
    import dataclasses

    settings = dataclasses.replace(recipe("mlp-600"), recipe="my own")
    assert train_command(settings, "a.pt") == "pacbound train 'my own' -o a.pt"


def test_numbers_with_an_exponent_are_numbers() -> None:
    assert parse_override("learning_rate=1e-5") == ("learning_rate", 1e-5)
    assert parse_override("initializer=he-normal") == ("initializer", "he-normal")
