"""Networks around learned priors: fixed, draw and Gibbs certificates of one training each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacbound.errors import SettingError
from pacbound.experiments.learned.cell import PREDICTORS, LearnedCell
from pacbound.experiments.learned.rows import render, rows
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.certified import Certification
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.selection import BANDITS_ONLY, KEEL_ONLY, Selection, chosen
from pacbound.priors.choices import prior_choices
from pacbound.recipes import recipe

__all__ = ["NETWORKS", "TABLE"]

NETWORKS = (
    "mnist-resnet-wide-learned",
    "mnist-resnet-learned",
    "fashion-resnet-learned",
    "cifar-10-resnet-learned",
    "mlp-600-learned",
    "lenet-5-learned",
    "fashion-lenet-learned",
)
WEIGHTS = 5000  # draws for the Gibbs risk; fewer than the default, as these networks are large


class LearnedTable:
    """Cells, rows and printing."""

    title = "Certificates around learned priors, beside those published elsewhere"
    published = "certificates"
    threads = None

    def cells(self, selection: Selection) -> list[LearnedCell]:
        """One cell per network, with the posterior of its recipe."""
        selection.refuse(*BANDITS_ONLY, *KEEL_ONLY, "objective", "posterior")
        networks = chosen("network", selection.networks, NETWORKS)
        overrides = selection.overrides or {}
        if "recipe" in overrides:
            raise SettingError("the table's cells differ in recipe; choose with --network")
        sampling = {"weights": WEIGHTS, **(selection.sampling or {})}
        certification = Certification(PREDICTORS, **sampling)
        found = []
        for network in networks:
            settings = recipe(network, overrides)
            if not settings.prior_fraction:
                raise SettingError("the priors of this table learn: prior_fraction must be above 0")
            prior_choices(settings)  # a prior that no certificate could pay for is refused now
            found.append(LearnedCell(settings, certification, network))
        return found

    def rows(self, cells: Sequence[LearnedCell], root: Path) -> list[Row]:
        """Three rows per cell."""
        return [row for cell in cells for row in rows(cell, Place.of(cell, root).path)]

    def render(self, rows: Sequence[Row]) -> Any:
        """The rows as a rich renderable."""
        return render(self.title, rows)

    def results(self, cell: LearnedCell, folder: Path) -> dict[str, Path]:
        """The certificates."""
        return cell.results(folder)


TABLE = LearnedTable()
