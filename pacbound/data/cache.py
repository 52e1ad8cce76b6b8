"""The local cache: canonical files on disk, verified by their hash."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pacbound.data.entry import CanonicalFile, Published
from pacbound.errors import DataError, FileError, PacboundError
from pacbound.files import write_whole

__all__ = ["CachedFiles", "cache_folder", "folder_of", "intact", "is_cached", "keep"]

_log = logging.getLogger(__name__)


def cache_folder() -> Path:
    """`$PACBOUND_DATA`, or the platform's cache folder."""
    if chosen := os.environ.get("PACBOUND_DATA"):
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("pacbound"))


def folder_of(entry: Published) -> Path:
    """The folder of a data set's files."""
    return cache_folder() / entry.folder


def path_of(entry: Published, file: CanonicalFile) -> Path:
    """The path of a data set's file."""
    return folder_of(entry) / file.name


def is_cached(entry: Published) -> bool:
    """Whether all files exist with the right size (the hash is checked on reading)."""
    try:
        return all(path_of(entry, file).stat().st_size == file.size for file in entry.files)
    except OSError:
        return False


def intact(entry: Published) -> set[str]:
    """The names of the cached files with the right content."""
    names = set()
    for file in entry.files:
        path = path_of(entry, file)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            _log.warning("cannot read %s (%s); getting it again", path, error.strerror)
            continue
        if file.matches(content):
            names.add(file.name)
        else:
            _log.warning("%s in the cache is damaged; getting it again", path)
    return names


class CachedFiles(Mapping[str, bytes]):
    """The files of a data set, each read and verified on access.

    Memory holds one file at a time, however large the data set is.
    """

    def __init__(self, entry: Published) -> None:
        self._entry = entry
        self._files = {file.name: file for file in entry.files}

    def __getitem__(self, name: str) -> bytes:
        file = self._files[name]
        path = path_of(self._entry, file)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise FileError(f"cannot read {path}: {error.strerror}; run it again") from error
        if not file.matches(content):
            raise DataError(f"{path} has changed since it was checked; run it again")
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def keep(entry: Published, contents: Mapping[str, bytes]) -> None:
    """Write verified files to the cache.

    Two processes may do this at once: file writes are atomic and both write the same bytes.
    """
    for file in entry.files:
        if file.name in contents:
            _write(path_of(entry, file), contents[file.name])


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, lambda stream: stream.write(content))
    except PacboundError as error:
        raise DataError(f"{error}; set PACBOUND_DATA to a writable folder") from error
