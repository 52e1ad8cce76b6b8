"""Files written whole or not at all, and their digests."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from pacbound.errors import FileError

__all__ = ["ensure_writable", "file_digest", "write_whole"]

TEMPORARY = ".part"  # how the name of a file ends that is being written


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Have `write` fill a temporary file beside `path`, then rename it into place.

    A process killed at any moment leaves the old file, or the new one, never a part of it. The
    temporary file that a killed process left is removed by the next that writes the same path.
    """
    # In memory first: some libraries make of a disk that is full an error of another kind.
    content = io.BytesIO()
    write(content)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        handle, temporary = _new_temporary(path)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content.getbuffer())
            stream.flush()
            os.fsync(stream.fileno())
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
            os.replace(temporary, path)
            temporary = None
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def _new_temporary(path: Path) -> tuple[int, str]:
    """A temporary file, locked for as long as its process lives and has it open."""
    while True:
        handle, name = tempfile.mkstemp(TEMPORARY, f".{path.name}.", path.parent)
        try:
            ours = _lock(handle) and os.fstat(handle).st_nlink > 0
        except OSError:  # a file system without locks, where nothing is taken for abandoned either
            ours = True
        if ours:
            return handle, name
        os.close(handle)  # another process took it for abandoned before it was locked


def _remove_abandoned(path: Path) -> None:
    """Remove what processes that are no more left of their attempts to write this path."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.\w{{8}}{re.escape(TEMPORARY)}")
    for name in os.listdir(path.parent):
        if ours.fullmatch(name):
            with suppress(OSError):
                handle = os.open(path.parent / name, os.O_RDONLY)
                try:
                    if _lock(handle):
                        os.unlink(path.parent / name)
                finally:
                    os.close(handle)


def _lock(handle: int) -> bool:
    """Take the file's lock, which the kernel lets go of when its process ends, however it ends."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def ensure_writable(path: Path) -> None:
    """Refuse a place that cannot be written to before long work begins."""
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
