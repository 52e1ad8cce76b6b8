"""A source of data that is a folder; importable by other processes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacbound.data.entry import Entry
from pacbound.data.fetching import obtain
from pacbound.data.sources import Progress


@dataclass(frozen=True)
class FolderSource:
    """Brings what is in a folder, after a while."""

    folder: str
    seconds: float = 0.0
    label: str = "folder"

    def read(self, wanted: Sequence[str], progress: Progress) -> Mapping[str, bytes]:
        time.sleep(self.seconds)
        return {name: (Path(self.folder) / name).read_bytes() for name in wanted}


def fetch_whole(entry: Entry) -> bool:
    """Fetch it; whether every file is what it should be."""
    fetched = obtain(entry)
    return all(file.matches(fetched.contents[file.name]) for file in entry.files)
