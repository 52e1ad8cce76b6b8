"""One way in for all data: a catalogue name, or the path of an `.npz` file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pacbound.data.catalogue import catalogue, find, find_files
from pacbound.data.dataset import Dataset
from pacbound.data.fetching import Added, Fetched, accept, obtain
from pacbound.data.npz import read_npz
from pacbound.data.sources import Progress
from pacbound.errors import BadInput

__all__ = ["add", "fetch", "load"]


def load(name_or_path: str, progress: Progress | None = None) -> Dataset:
    """The data set of this name, fetched when the cache lacks it, or the one in this file."""
    if name_or_path not in catalogue():
        path = Path(name_or_path).expanduser()
        if path.is_file():
            return read_npz(path)
        if "/" in name_or_path or os.sep in name_or_path or path.suffix:
            raise BadInput(
                f"no file {name_or_path}; give an .npz file or one of: {', '.join(catalogue())}"
            )
    entry = find(name_or_path)
    return entry.assemble(obtain(entry, progress).contents)


def fetch(name: str, progress: Progress | None = None) -> Fetched:
    """Make sure that the files of a data set or a bandit problem are in the cache."""
    return obtain(find_files(name), progress)


def add(name: str, paths: Sequence[Path]) -> Added:
    """Put files that the user has, of a data set or a bandit problem, into the cache."""
    return accept(find_files(name), paths)
