"""The data sets that go by name."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from pacbound.data import sets
from pacbound.data.entry import Entry
from pacbound.errors import unknown_name

__all__ = ["catalogue", "find"]


@cache
def catalogue() -> dict[str, Entry]:
    """Every data set in the folder `sets`, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(sets.__path__))
    entries = [importlib.import_module(f"{sets.__name__}.{name}").ENTRY for name in names]
    return {entry.name: entry for entry in entries}


def find(name: str) -> Entry:
    """The data set of this name."""
    try:
        return catalogue()[name]
    except KeyError:
        raise unknown_name("data set", name, catalogue()) from None
