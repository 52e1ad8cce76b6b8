"""The command that reproduces a run with given settings."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pacbound.recipes import Settings, recipe, recipe_names

__all__ = ["GIVEN", "as_texts", "setting_texts", "train_command"]

GIVEN = "arrays given in Python"  # the data name of settings without a file

# These settings decide the defaults of the others.
SELECTORS = ("protocol", "prior_fraction", "posterior")
# Options of `pacbound train` itself.
OPTIONS = {"model", "posterior", "objective", "protocol", "epochs", "seed", "data", "label"}
OPTIONS |= {"prior_weights", "origin", "prior_data"}
REPEATED = {"frozen": "--freeze", "fresh": "--fresh", "constants": "--constants"}


def train_command(settings: Settings, output: Path | str) -> str:
    """`pacbound train …` with the settings that differ from the recipe.

    Data or modules given as Python objects have no command.

    Example:
        >>> train_command(recipe("mlp-600", {"posterior": "diag", "batch": 250}), "diag.pt")
        'pacbound train mlp-600 --posterior diag --set batch=250 -o diag.pt'
    """
    has_no_file = settings.origin and not settings.prior_weights
    if settings.data == GIVEN or has_no_file or (settings.structure and not settings.model):
        return "in Python, with these settings"
    wanted = settings.everything()
    program = ["pacbound"]
    if settings.noise_streams > 1:  # the noise depends on this number of processes
        processes = str(settings.noise_streams)
        program = ["torchrun", "--nproc-per-node", processes, "-m", "pacbound_cli"]
    words = [*program, "train", settings.recipe]
    if settings.recipe in recipe_names():
        # Settings that select other defaults come first; the rest is compared with those defaults.
        selected: dict[str, object] = {}
        for key in SELECTORS:
            if getattr(recipe(settings.recipe, selected), key) != wanted[key]:
                selected[key] = wanted[key]
        defaults = recipe(settings.recipe, selected).everything()
        differing = [key for key in wanted if defaults[key] != wanted[key]]
        for key in (*selected, *differing):
            words += _option(key, wanted[key])
    return shlex.join([*words, "-o", str(output)])


def _option(key: str, value: object) -> list[str]:
    if key in OPTIONS:
        return [f"--{key.replace('_', '-')}", str(value)]
    if key in REPEATED and isinstance(value, list):
        return [word for pattern in value for word in (REPEATED[key], str(pattern))]
    # As YAML, because `--set` reads YAML: JSON's 1e-05 would be text there.
    text = yaml.safe_dump(value, default_flow_style=True, width=math.inf)
    text = text.removesuffix("...\n").strip()
    return ["--set", f"{key}={text}"]


def as_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as a certificate records them: words unchanged, the rest as JSON."""
    return {
        name: value[:2000] if isinstance(value, str) else json.dumps(value)[:2000]
        for name, value in values.items()
    }


def setting_texts(settings: Settings) -> dict[str, str]:
    """The settings that differ from their defaults, as a certificate records them."""
    return as_texts(settings.to_mapping())
