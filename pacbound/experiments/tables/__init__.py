"""The paper's tables: cells that are run once, resumed after interruptions, and printed."""

from __future__ import annotations

import importlib
from typing import cast

from pacbound.errors import unknown_name
from pacbound.experiments.tables.cell import Table

__all__ = ["TABLES", "table_named"]

TABLES = {  # a module, imported on request, and the name of the table in it
    "pac-bayes": ("pacbound.experiments.pac_bayes.table", "TABLE"),
    "learned": ("pacbound.experiments.learned.table", "TABLE"),
    "vi": ("pacbound.experiments.vi.table", "TABLE"),
    "bandit": ("pacbound.experiments.bandit.table", "TUNED_TABLE"),
    "bandit-untuned": ("pacbound.experiments.bandit.table", "UNTUNED_TABLE"),
    "keel": ("pacbound.experiments.keel.table", "TABLE"),
}


def table_named(name: str) -> Table:
    """The table of this name."""
    if name not in TABLES:
        raise unknown_name("table", name, TABLES)
    module, attribute = TABLES[name]
    return cast(Table, getattr(importlib.import_module(module), attribute))
