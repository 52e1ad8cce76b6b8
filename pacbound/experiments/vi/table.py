"""The paper's Tables 1 and 2: test errors of variational inference by network and posterior."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacbound.errors import SettingError
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.selection import (
    BANDITS_ONLY,
    KEEL_ONLY,
    Selection,
    chosen,
    refuse_overrides,
)
from pacbound.experiments.vi.cell import EVALUATION, ViCell
from pacbound.experiments.vi.rows import render, row
from pacbound.recipes import recipe

__all__ = ["NETWORKS", "POSTERIORS", "TABLE"]

NETWORKS = ("lenet-5", "lenet-5-cifar5", "vgg-16", "vgg-16-augmented")
POSTERIORS = ("point", "diag", "k-diag", "k-linear", "k-nonlinear")
FIRST = ("k-linear", "diag")  # so that an unfinished table already says something
SAMPLES = 20


class ViTable:
    """Cells, rows and printing."""

    title = "Variational inference, test error beside the paper's Tables 1 and 2"
    published = "results/vi"
    threads = None

    def cells(self, selection: Selection) -> list[ViCell]:
        """The cells by network, in the order in which they run."""
        selection.refuse(*BANDITS_ONLY, *KEEL_ONLY)
        networks = chosen("network", selection.networks, NETWORKS)
        posteriors = chosen("posterior", selection.posteriors, POSTERIORS)
        overrides = selection.overrides or {}
        refuse_overrides(overrides)
        asked = dict(selection.sampling or {})
        samples = asked.pop("samples", SAMPLES)
        if selection.objectives or asked:
            raise SettingError(
                "this table trains by the ELBO and certifies nothing: only --samples applies"
            )
        return [
            ViCell(
                recipe(f"vi-{network}", {**overrides, "posterior": posterior}),
                network,
                posterior,
                samples,
            )
            for network in networks
            for posterior in sorted(posteriors, key=_turn)
        ]

    def rows(self, cells: Sequence[ViCell], root: Path) -> list[Row]:
        """One row per cell, in the order of the paper."""
        ordered = sorted(
            cells, key=lambda cell: (NETWORKS.index(cell.network), POSTERIORS.index(cell.posterior))
        )
        return [row(cell, Place.of(cell, root).path) for cell in ordered]

    def render(self, rows: Sequence[Row]) -> Any:
        """The rows as a rich renderable."""
        return render(self.title, rows)

    def results(self, cell: ViCell, folder: Path) -> dict[str, Path]:
        """The evaluation on the test examples."""
        return {f"{cell.name}.json": folder / EVALUATION}


def _turn(posterior: str) -> int:
    return FIRST.index(posterior) if posterior in FIRST else len(FIRST)


TABLE = ViTable()
