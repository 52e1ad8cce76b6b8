"""What the development of a recipe looked at; a stand-in until branch content is merged."""

from __future__ import annotations

from pacbound.recipes.settings import Settings

__all__ = ["recipe_ledger"]


def recipe_ledger(settings: Settings) -> tuple[int, int]:
    """Candidates and looks of a recipe's development."""
    return 1, 0
