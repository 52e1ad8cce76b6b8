"""Atomic file writes, and digests of files."""

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

TEMPORARY = ".part"  # the suffix of a file that is being written


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it to `path`.

    A process killed at any moment leaves either the old file or the new one, never a partial file.
    The next write to the same path removes the temporary file of a killed process.
    """
    # In memory first: some libraries report a full disk as another kind of error.
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
    """A temporary file, locked as long as its process lives and keeps it open."""
    while True:
        handle, name = tempfile.mkstemp(TEMPORARY, f".{path.name}.", path.parent)
        try:
            ours = _lock(handle) and os.fstat(handle).st_nlink > 0
        except OSError:  # a file system without locks: there, no file is treated as abandoned
            ours = True
        if ours:
            return handle, name
        os.close(handle)  # another process removed it as abandoned before it was locked


def _remove_abandoned(path: Path) -> None:
    """Remove the temporary files for this path that dead processes left."""
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
    """Take the file's lock. The kernel releases it when the process ends for any reason."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def ensure_writable(path: Path, *read: str | os.PathLike[str] | None) -> None:
    """Fail if a path cannot be written, before long work begins.

    Arguments:
        read: What the same command reads, which it must not replace.
    """
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder")
    for other in read:
        if other is not None and path.exists() and Path(other).exists() and path.samefile(other):
            raise FileError(f"cannot write {path}: the command reads it; give another name")
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
