"""Named experiments: one YAML file each."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml

from pacbound.errors import BadInput, unknown_name
from pacbound.recipes.settings import Settings

__all__ = ["Settings", "parse_override", "recipe", "recipe_names", "recipe_text"]


def recipe_names() -> list[str]:
    """The built-in recipes."""
    names = [entry.name for entry in files("pacbound.recipes").iterdir()]
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def recipe_text(name: str) -> str:
    """A recipe's YAML, with its comments."""
    if name not in recipe_names():
        raise unknown_name("recipe", name, recipe_names())
    return (files("pacbound.recipes") / f"{name}.yaml").read_text(encoding="utf-8")


def recipe(name: str, overrides: Mapping[str, Any] | None = None) -> Settings:
    """A recipe's settings with some of them replaced.

    Example:
        >>> recipe("mlp-600", {"epochs": 3}).epochs
        3
    """
    values = {"recipe": name, **yaml.safe_load(recipe_text(name))}
    by_posterior = values.pop("posteriors", {})
    chosen = (overrides or {}).get("posterior", values["posterior"])
    return Settings.from_mapping({**values, **by_posterior.get(chosen, {}), **(overrides or {})})


def parse_override(text: str) -> tuple[str, Any]:
    """`key=value` with the value read as YAML."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise BadInput(f"'{text}' is not of the form key=value")
    try:
        return key.strip(), yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise BadInput(f"the value of '{key}' cannot be read: {value!r}") from error
