"""Named experiments: one YAML file each."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from pacbound.errors import SettingError, unknown_name
from pacbound.recipes.settings import Settings

__all__ = [
    "Settings",
    "candidate_keys",
    "candidates",
    "lineage",
    "listed_candidates",
    "parse_override",
    "recipe",
    "recipe_about",
    "recipe_names",
    "recipe_text",
]

OURS = "ours"  # the default protocol: the recipe's own settings


def recipe_names() -> list[str]:
    """The built-in recipes."""
    names = [entry.name for entry in files("pacbound.recipes").iterdir()]
    return sorted(
        name.removesuffix(".yaml")
        for name in names
        if name.endswith(".yaml") and name != "ledger.yaml"
    )


def recipe_text(name: str) -> str:
    """A recipe's YAML, with its comments."""
    if name not in recipe_names():
        raise unknown_name("recipe", name, recipe_names())
    return (files("pacbound.recipes") / f"{name}.yaml").read_text(encoding="utf-8")


def recipe_about(name: str) -> str:
    """The first sentence of a recipe's comment, which may span several lines."""
    lines = recipe_text(name).splitlines()
    comment = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return " ".join(line.lstrip("# ") for line in comment).partition(". ")[0].removesuffix(".")


def recipe(name: str, overrides: Mapping[str, Any] | None = None) -> Settings:
    """A recipe's settings, with some of them replaced.

    Example:
        >>> recipe("mlp-600", {"epochs": 3}).epochs
        3
    """
    given = dict(overrides or {})
    values = {**_values(name), "recipe": name}
    posteriors, protocols = values.pop("posteriors", {}), values.pop("protocols", {})
    learned = values.pop("learned", {})
    values.pop("candidates", None)
    if given.get("origin"):
        given.setdefault("prior_fraction", 0.0)  # a prior of its own
    if candidate_keys(name) & set(given):
        given.setdefault("prior_choice", "none")  # what is given is not chosen
    protocol = given.setdefault("protocol", OURS)
    if protocol != OURS:
        if protocol not in [*protocols]:
            raise unknown_name("protocol", str(protocol), [OURS, *protocols])
        # Settings per posterior belong to our own protocol. Another protocol has its own, or none.
        values |= protocols[protocol]
        posteriors = values.pop("posteriors", {})
    elif learned and given.get("prior_fraction", values.get("prior_fraction", 0)):
        # A learned prior has its own good settings, also per posterior.
        values |= learned
        posteriors = values.pop("posteriors", {})
    special = posteriors.get(str(given.get("posterior", values["posterior"])), {})
    return Settings.from_mapping({**values, **special, **given})


def candidate_keys(name: str) -> set[str]:
    """The settings in which a recipe's candidates differ; none if it lists no candidates."""
    return {key for entry in listed_candidates(name) for key in entry}


def listed_candidates(name: str) -> list[dict[str, Any]]:
    """The candidates of a recipe, from the smallest to the largest; empty if it has none."""
    found: list[dict[str, Any]] = []
    if name in recipe_names():
        found = _values(name).get("candidates", [])
    return found


def candidates(settings: Settings) -> list[Settings]:
    """The alternatives that the recipe of these settings lists, or these settings alone.

    They differ in the network and in the training of its learned prior.
    """
    if settings.prior_choice == "none":
        return [settings]
    given = settings.everything() | {"prior_choice": "none"}
    listed = listed_candidates(settings.recipe) or [{}]
    return [Settings.from_mapping({**given, **entry}) for entry in listed]


def lineage(name: str) -> list[str]:
    """A recipe, the recipe it is based on, and so on."""
    base = _parsed(recipe_text(name)).get("base")
    return [name, *lineage(base)] if base else [name]


@cache
def _parsed(text: str) -> dict[str, Any]:
    """A recipe's parsed YAML, cached: parsing takes longer than certifying a small network."""
    values: dict[str, Any] = yaml.safe_load(text)
    return values


def _values(name: str) -> dict[str, Any]:
    """A recipe's values, merged with those of the recipes it is based on."""
    values: dict[str, Any] = {}
    for each in reversed(lineage(name)):
        own = copy.deepcopy(_parsed(recipe_text(each)))
        if "learned" in values and "learned" in own:
            own["learned"] = values["learned"] | own["learned"]
        values |= own
    values.pop("base", None)
    return values


def parse_override(text: str) -> tuple[str, Any]:
    """`key=value` with the value read as YAML."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingError(f"'{text}' is not of the form key=value")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise SettingError(f"the value of '{key}' cannot be read: {value!r}") from error
    if isinstance(parsed, str):  # YAML reads 1e-5 as text; as a setting it is a number
        with suppress(ValueError):
            parsed = float(parsed)
    return key.strip(), parsed
