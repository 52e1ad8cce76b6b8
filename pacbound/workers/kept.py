"""Finished chunks in a file, so that killed work resumes from there."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import platform
import secrets
import tempfile
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pacbound import __version__
from pacbound.data.cache import cache_folder
from pacbound.errors import FileError

__all__ = ["Kept"]

SYNC = 1.0  # seconds of work that a power failure may lose
KEY, KEY_BYTES = "key-of-unfinished-work", 32  # in the user's cache


class Kept:
    """The finished chunks, one line each, with a digest that detects damaged and forged lines.

    The digests need a key of the user. Otherwise a file that came with another person's checkpoint
    could decide what is certified.

    Results may differ in the last digit between versions and processors, so work begun elsewhere is
    not resumed. The same file can serve several kinds of work, distinguished by their identity.
    Lines added by two processes can both be present; they are equal.

    Arguments:
        path: The file. `remove` deletes it when it is no longer needed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._synced = time.monotonic()
        self._handle: int | None = None

    @cached_property
    def _key(self) -> bytes:
        return _own_key()

    def found(self, identity: str) -> dict[int, Any]:
        """The kept results of this work, by chunk number."""
        results: dict[int, Any] = {}
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
            raise FileError(f"{self.path} is not a regular file; delete it")
        try:
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return results
        except OSError as error:
            raise FileError(f"cannot read {self.path}: {error.strerror or error}") from error
        ours = _place(identity)
        for line in lines:
            digest, _, text = line.partition(b" ")
            if hmac.compare_digest(
                digest, _digest(self._key, text)
            ):  # neither truncated by a kill nor damaged
                try:
                    place, number, result = json.loads(text)
                except (ValueError, TypeError, RecursionError):
                    continue  # not written by `add`
                if place == ours and type(number) is int:
                    results[number] = result
        return results

    def add(self, identity: str, number: int, result: Any) -> None:
        """Keep one more result."""
        text = json.dumps([_place(identity), number, result], separators=(",", ":")).encode()
        # A line truncated by a kill ends here.
        line = b"\n" + _digest(self._key, text) + b" " + text + b"\n"
        try:
            if self._handle is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
                self._handle = os.open(self.path, flags, 0o666)
            if os.write(self._handle, line) < len(line):
                raise OSError("no space left for a whole line")
            if time.monotonic() - self._synced > SYNC:
                os.fsync(self._handle)
                self._synced = time.monotonic()
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {error.strerror or error}") from error

    def remove(self) -> None:
        """Delete the file: the final result is written."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def _digest(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha256).hexdigest()[:32].encode()


def _own_key() -> bytes:
    """The user's key, made on first use; for this process only if it cannot be stored."""
    path, fresh = cache_folder() / KEY, secrets.token_bytes(KEY_BYTES)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            with tempfile.NamedTemporaryFile(dir=path.parent) as file:  # others cannot read it
                file.write(fresh)
                file.flush()
                with suppress(FileExistsError):
                    os.link(file.name, path)
        found = path.read_bytes()
    except OSError:
        return fresh
    return found if len(found) == KEY_BYTES else fresh


def _place(identity: str) -> str:
    """The identity of the work, and what else rounding depends on."""
    parts = (
        identity,
        __version__,
        torch.__version__,
        np.__version__,
        platform.machine(),
        torch.backends.cpu.get_cpu_capability(),
    )
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]
