"""Packages that `apt-get` can download."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pacbound.data.sources import SourceFailed
from pacbound.data.sources.package import Package, run_client

__all__ = ["AptPackage"]


@dataclass(frozen=True)
class AptPackage(Package):
    """A Debian package, by name. Its archive is read and never installed."""

    @property
    def label(self) -> str:
        return f"apt package {self.package}"

    def download(self, folder: Path) -> None:
        # By default, apt waits two minutes for each server that does not answer.
        apt = ["apt-get", "--quiet", "-o", "Acquire::http::Timeout=10", "-o", "Acquire::Retries=1"]
        download = [*apt, "download", self.package]
        try:
            run_client(download, folder)
        except SourceFailed as failure:
            # A new system has no package lists yet. Only an administrator may fetch them.
            if "Unable to locate package" not in str(failure) and "candidate" not in str(failure):
                raise
            run_client([*apt, "update"], folder)
            run_client(download, folder)
