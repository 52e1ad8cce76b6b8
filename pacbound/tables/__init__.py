"""The paper's tables: cells that are run once, resumed when interrupted, and printed."""

from __future__ import annotations

import importlib
from typing import cast

from pacbound.errors import unknown_name
from pacbound.tables.cell import Table

__all__ = ["TABLES", "table_named"]

TABLES = {  # imported when asked for
    "pac-bayes": "pacbound.tables.pac_bayes",
    "vi": "pacbound.tables.vi",
}


def table_named(name: str) -> Table:
    """The table of that name: a module with a `TABLE` in it."""
    if name not in TABLES:
        raise unknown_name("table", name, TABLES)
    return cast(Table, importlib.import_module(TABLES[name]).TABLE)
