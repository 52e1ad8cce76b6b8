"""The data sets that go by name, and the raw files of bandit problems."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from pacbound.data import raw, sets
from pacbound.data.entry import Entry, Published, RawEntry
from pacbound.errors import DataError, unknown_name

__all__ = ["catalogue", "find", "find_files", "raw_catalogue", "register"]


@cache
def catalogue() -> dict[str, Entry]:
    """Every data set in the folder `sets`, by name."""
    return {entry.name: entry for entry in _entries(sets)}


def register(entry: Entry) -> None:
    """Make a data set known by its name; those in the folder `sets` are."""
    catalogue()[entry.name] = entry


@cache
def raw_catalogue() -> dict[str, RawEntry]:
    """The files of every bandit problem, from the folder `raw`, by the problem's name."""
    return {entry.name: entry for entry in _entries(raw)}


def _entries(folder: ModuleType) -> Iterator[Any]:
    for name in sorted(module.name for module in pkgutil.iter_modules(folder.__path__)):
        yield importlib.import_module(f"{folder.__name__}.{name}").ENTRY


def find(name: str) -> Entry:
    """The data set of this name."""
    if name in catalogue():
        return catalogue()[name]
    if name in raw_catalogue():
        raise DataError(
            f"'{name}' is a bandit problem, not a data set to classify; "
            f"choose from: {', '.join(catalogue())}"
        )
    raise unknown_name("data set", name, catalogue())


def find_files(name: str) -> Published:
    """What can be fetched under this name: a data set or the files of a bandit problem."""
    published: dict[str, Published] = {**catalogue(), **raw_catalogue()}
    if name not in published:
        raise unknown_name("data set", name, published)
    return published[name]
