"""Getting a named data set: from the cache, else from the first source that answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pacbound.data.cache import cache_folder, keep, recall
from pacbound.data.entry import Entry
from pacbound.data.sources import Progress, SourceFailed
from pacbound.errors import BadInput

__all__ = ["Fetched", "obtain"]


@dataclass(frozen=True)
class Fetched:
    """The files of a data set, all checked, and which sources they came from."""

    name: str
    folder: Path
    sources: tuple[str, ...]
    contents: dict[str, bytes]


def obtain(entry: Entry, progress: Progress | None = None) -> Fetched:
    """All files of the data set, which are in the cache afterwards."""
    report = progress or _silent
    folder = cache_folder() / entry.name
    report(f"reading {entry.name} from the cache", 0, None)
    contents = recall(entry)
    used = ["cache"] if contents else []
    failures = [] if contents else [f"cache ({folder}): not there"]
    for source in entry.sources:
        missing = [file for file in entry.files if file.name not in contents]
        if not missing:
            break
        try:
            brought = source.read([file.name for file in missing], report)
        except SourceFailed as failure:
            failures.append(f"{source.label}: {failure}")
            continue
        good = {f.name: brought[f.name] for f in missing if f.matches(brought.get(f.name, b""))}
        if len(good) < len(missing):
            failures.append(f"{source.label}: its files are not the published ones (hash differs)")
        if good:
            keep(entry, good)
            contents |= good
            used.append(source.label)
    if len(contents) < len(entry.files):
        raise BadInput(
            f"cannot get data set '{entry.name}'; tried {'; '.join(failures)}. "
            f"Give its files with: pacbound data add {entry.name} FILE…"
        )
    return Fetched(entry.name, folder, tuple(used), contents)


def _silent(description: str, done: int, total: int | None) -> None:
    pass
