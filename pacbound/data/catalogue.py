"""The named data sets."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from pacbound.data import sets
from pacbound.data.entry import Entry
from pacbound.errors import unknown_name

__all__ = ["catalogue", "find", "register"]


@cache
def catalogue() -> dict[str, Entry]:
    """Every data set in the folder `sets`, by name."""
    return {entry.name: entry for entry in _entries(sets)}


def register(entry: Entry) -> None:
    """Register a data set by its name; those in the folder `sets` are registered already."""
    catalogue()[entry.name] = entry


def _entries(folder: ModuleType) -> Iterator[Any]:
    for name in sorted(module.name for module in pkgutil.iter_modules(folder.__path__)):
        module = importlib.import_module(f"{folder.__name__}.{name}")
        yield from getattr(module, "ENTRIES", None) or (module.ENTRY,)


def find(name: str) -> Entry:
    """The data set of this name."""
    if name in catalogue():
        return catalogue()[name]
    raise unknown_name("data set", name, catalogue())
