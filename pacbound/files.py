"""Files written whole or not at all, and their digests."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from pacbound.errors import BadInput

__all__ = ["ensure_writable", "file_digest", "write_whole"]


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Call `write` on a temporary file beside `path`, then rename it into place.

    A process killed at any moment leaves the old file, or the new one, never a part of it.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def ensure_writable(path: Path) -> None:
    """Refuse a place that cannot be written to before long work begins."""
    if path.is_dir():
        raise BadInput(f"cannot write {path}: it is a folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror or error}") from error


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
