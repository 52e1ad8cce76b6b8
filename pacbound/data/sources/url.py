"""Public addresses of the canonical files."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pacbound.data.sources import Progress, SourceFailed
from pacbound.data.sources.archives import LARGEST_FILE, gunzip

__all__ = ["Mirrors"]

_PATIENCE = 5.0  # seconds to connect, and between two pieces of an answer
_PIECE = 1 << 18


@dataclass(frozen=True)
class Mirrors:
    """The same gzipped files under several addresses: `address + name + ".gz"`."""

    addresses: tuple[str, ...]

    @property
    def label(self) -> str:
        return "public address"

    def read(self, wanted: Sequence[str], progress: Progress) -> Mapping[str, bytes]:
        reason = "no address is known"
        for address in self.addresses:
            try:
                return {name: _fetch(f"{address}{name}.gz", progress) for name in wanted}
            except urllib.error.HTTPError as error:
                reason = f"{address} answers {error.code} {error.reason}"
            except urllib.error.URLError as error:
                # On a closed network every further address would be waited for in vain.
                raise SourceFailed(f"{address} cannot be reached: {error.reason}") from error
            except (OSError, http.client.HTTPException) as error:
                reason = f"{address} breaks off: {error}"
            except SourceFailed as failure:
                reason = str(failure)
        raise SourceFailed(reason)


def _fetch(url: str, progress: Progress) -> bytes:
    pieces: list[bytes] = []
    done = 0
    with urllib.request.urlopen(url, timeout=_PATIENCE) as answer:
        length = answer.headers.get("Content-Length")
        total = int(length) if length and length.isdigit() else None
        description = f"downloading {url.rsplit('/', 1)[-1]}"
        while piece := answer.read(_PIECE):
            pieces.append(piece)
            done += len(piece)
            if done > LARGEST_FILE:
                raise SourceFailed(f"{url} is too large to be the data")
            progress(description, done, total)
    return gunzip(b"".join(pieces), url)
