"""The tables of recipes and their settings."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path

from pacbound.certificate.format import Certificate
from pacbound.experiments.pac_bayes.page import published, seconds
from pacbound.recipes import Settings, recipe, recipe_about, recipe_names
from pacbound.recipes.settings import allowed

__all__ = ["recipes_table", "settings_table"]


def recipes_table(folder: Path) -> str:
    """Every recipe, with its training time if that was published."""
    minutes = _minutes(folder)
    rows = [
        "| recipe | what it is | epochs | min |",
        "|---|---|---|---|",
    ]
    for name in recipe_names():
        settings, about = recipe(name), recipe_about(name)
        sizes = f" {list(settings.hidden)}" if settings.hidden else ""
        prior = (
            f"learned, {settings.prior_fraction:.0%}" if settings.prior_fraction else "data-free"
        )
        epochs = f"{settings.prior_epochs} + " if settings.prior_fraction else ""
        rows.append(
            f"| `{name}` | {about} ({settings.data}; {settings.network}{sizes}; {prior}) "
            f"| {epochs}{settings.epochs} | {minutes.get(name, '–')} |"
        )
    return "\n".join(rows)


def _minutes(folder: Path) -> dict[str, str]:
    """The minutes of published trainings with unchanged recipes."""
    found = {}
    for _, certificate in published(folder):
        name, took = certificate.model.recipe, _training(certificate)
        if name in recipe_names() and took is not None and _is_unchanged(name, certificate):
            found[name] = f"{took / 60:.0f}"
    return found


def _is_unchanged(name: str, certificate: Certificate) -> bool:
    settings = recipe(name).to_mapping()
    own = {k: v if isinstance(v, str) else json.dumps(v) for k, v in settings.items()}
    return certificate.made.settings == own


def _training(certificate: Certificate) -> float | None:
    """The training time in seconds, including a learned prior."""
    took = seconds(certificate, "train")
    return None if took is None else took + (seconds(certificate, "prior") or 0.0)


def settings_table(folder: Path) -> str:
    """Every setting, its valid values, and its default."""
    rows = ["| setting | must be | if not given |", "|---|---|---|"]
    words = allowed()
    for field in fields(Settings):
        if field.name == "recipe":
            continue
        default = "–" if field.default in (MISSING, "") else f"`{field.default}`"
        rows.append(f"| `{field.name}` | {words[field.name]} | {default} |")
    return "\n".join(rows)
