"""The looks at data during the development of a built-in recipe. Its certificates pay for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from pacbound.errors import SettingError
from pacbound.priors import kind_of
from pacbound.recipes.settings import Settings

__all__ = ["Tried", "recipe_ledger"]


@dataclass(frozen=True)
class Tried:
    """Alternatives listed before the first look, and adaptive looks.

    They cost ln(candidates) + looks · ln 2 nats (SPEC.md, section 8).
    """

    candidates: int = 1
    looks: int = 0

    def __post_init__(self) -> None:
        if self.candidates < 1 or self.looks < 0:
            raise SettingError("candidates must be 1 or more, looks 0 or more")

    def __add__(self, other: Tried) -> Tried:
        """The sum of both: their nats add up."""
        return Tried(self.candidates * other.candidates, self.looks + other.looks)


def recipe_ledger(settings: Settings, data_sha256: str) -> Tried:
    """The recipe's entry in the ledger of a certificate on the data of this digest.

    Looks at a data set count if the examples are the same or if the settings name it. Nothing in a
    checkpoint's settings can lower them. On other data they cost nothing.
    """
    kind = kind_of(settings).name
    content = _ledger()
    seen = {
        name
        for name, digests in content["data"].items()
        if data_sha256 in digests or settings.data == name
    }
    tried = Tried()
    for entry in content["entries"]:
        if settings.recipe in entry["recipes"] and entry["prior"] == kind and entry["data"] in seen:
            tried += Tried(entry.get("candidates", 1), entry.get("looks", 0))
    return tried


@cache
def _ledger() -> dict[str, Any]:
    text = (files("pacbound.recipes") / "ledger.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content
