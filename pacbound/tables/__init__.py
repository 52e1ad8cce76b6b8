"""The paper's tables: cells that are run once, resumed when interrupted, and printed."""

from __future__ import annotations

import importlib
from typing import cast

from pacbound.errors import unknown_name
from pacbound.tables.cell import Table

__all__ = ["TABLES", "table_named"]

TABLES = {  # a module, imported when asked for, and the table's name in it
    "pac-bayes": ("pacbound.tables.pac_bayes", "TABLE"),
    "vi": ("pacbound.tables.vi", "TABLE"),
    "bandit": ("pacbound.tables.bandit", "TUNED_TABLE"),
    "bandit-untuned": ("pacbound.tables.bandit", "UNTUNED_TABLE"),
}


def table_named(name: str) -> Table:
    """The table of that name."""
    if name not in TABLES:
        raise unknown_name("table", name, TABLES)
    module, attribute = TABLES[name]
    return cast(Table, getattr(importlib.import_module(module), attribute))
