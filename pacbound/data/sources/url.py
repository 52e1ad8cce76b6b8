"""Public addresses of the canonical files.

The standard library is enough. pooch would add requests as a dependency. It has no size limit,
and on a closed network it does not move on to the next kind of source at once.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pacbound.data.sources import Progress, SourceFailed
from pacbound.data.sources.archives import (
    LARGEST_FILE,
    Readable,
    gunzip,
    read_members,
    read_tarball,
)

__all__ = ["Mirrors", "PublicArchive"]

_PATIENCE = 5.0  # seconds to connect, and between two pieces of a response
_PIECE = 1 << 18


@dataclass(frozen=True)
class Mirrors:
    """The same files under several addresses: `address + name + suffix`.

    The files are gzipped if the suffix is ".gz", and as published if it is empty.
    """

    addresses: tuple[str, ...]
    suffix: str = ".gz"

    @property
    def label(self) -> str:
        return "public address"

    def read(self, wanted: Sequence[str], progress: Progress) -> Mapping[str, bytes]:
        return _first_answer(
            self.addresses,
            lambda address: {
                name: _fetch(f"{address}{name}{self.suffix}", progress) for name in wanted
            },
        )


@dataclass(frozen=True)
class PublicArchive:
    """The same gzipped tarball at several addresses, and the canonical files in it."""

    addresses: tuple[str, ...]
    members: tuple[str, ...]

    @property
    def label(self) -> str:
        return "public address"

    def read(self, wanted: Sequence[str], progress: Progress) -> Mapping[str, bytes]:
        members = [member for member in self.members if _base(member) in wanted]

        def fetch(address: str) -> dict[str, bytes]:
            with _answer(address, progress) as answer:
                return _by_base(read_tarball(answer, members, address))

        return _first_answer(self.addresses, fetch)

    def unpack(self, archive: Path) -> Mapping[str, bytes]:
        """The canonical files inside the tarball."""
        return _by_base(read_members(archive, self.members))


def _base(member: str) -> str:
    return PurePosixPath(member).name


def _by_base(members: Mapping[str, bytes]) -> dict[str, bytes]:
    return {_base(member): content for member, content in members.items()}


def _first_answer(
    addresses: Sequence[str], fetch: Callable[[str], dict[str, bytes]]
) -> dict[str, bytes]:
    reason = "no address is known"
    for address in addresses:
        try:
            return fetch(address)
        except urllib.error.HTTPError as error:
            reason = f"{address} answers {error.code} {error.reason}"
        except urllib.error.URLError as error:
            # On a closed network, every further address would only time out.
            raise SourceFailed(f"{address} cannot be reached: {error.reason}") from error
        except (OSError, http.client.HTTPException) as error:
            reason = f"{address} breaks off: {error}"
        except SourceFailed as failure:
            reason = str(failure)
    raise SourceFailed(reason)


class _Answer:
    """A server's response, with progress and a limit on its size."""

    def __init__(self, url: str, answer: http.client.HTTPResponse, progress: Progress) -> None:
        self._url, self._answer, self._progress = url, answer, progress
        length = answer.headers.get("Content-Length")
        self._total = int(length) if length and length.isdigit() else None
        self._done = 0

    def read(self, size: int) -> bytes:
        piece = self._answer.read(size)
        self._done += len(piece)
        if self._done > LARGEST_FILE:
            raise SourceFailed(f"{self._url} is too large to be the data")
        description = f"downloading {self._url.rsplit('/', 1)[-1]}"
        self._progress(description, self._done, self._total)
        return piece


@contextmanager
def _answer(url: str, progress: Progress) -> Iterator[Readable]:
    with urllib.request.urlopen(url, timeout=_PATIENCE) as answer:
        yield _Answer(url, answer, progress)


def _fetch(url: str, progress: Progress) -> bytes:
    with _answer(url, progress) as answer:
        pieces = list(iter(lambda: answer.read(_PIECE), b""))
    content = b"".join(pieces)
    return gunzip(content, url) if url.endswith(".gz") else content
