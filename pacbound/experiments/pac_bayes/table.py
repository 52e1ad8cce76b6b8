"""The paper's Table 3: PAC-Bayes bounds by network, objective and posterior.

Also of the paper's networks in blocks, and of smaller networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacbound.errors import SettingError
from pacbound.experiments.pac_bayes.cell import PREDICTORS, PacBayesCell
from pacbound.experiments.pac_bayes.rows import render, row
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.certified import Certification
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.selection import (
    BANDITS_ONLY,
    KEEL_ONLY,
    Selection,
    chosen,
    refuse_overrides,
)
from pacbound.priors.choices import prior_choices
from pacbound.recipes import recipe

__all__ = ["NETWORKS", "OBJECTIVES", "PAPER", "POSTERIORS", "TABLE"]

# The paper's networks; the same in blocks (networks/blocks.py); and small ones of this project.
PAPER = ("mlp-600", "mlp-600x2", "lenet-5")
SMALL = ("mlp-30", "lenet-lean")
NETWORKS = (*(name for paper in PAPER for name in (paper, f"{paper}-blocks")), *SMALL)
POSTERIORS = ("diag", "k-diag", "k-linear", "k-nonlinear")
# "ours" is the objective of the recipe, and the only one of networks that the paper has not.
OBJECTIVES = {
    "pinsker": ("diag", "k-diag", "k-linear"),  # its square root needs an exact KL
    "catoni": POSTERIORS,
    "ours": POSTERIORS,
}


class PacBayesTable:
    """Cells, rows and printing."""

    title = "PAC-Bayes bounds, beside the paper's Table 3"
    published = "certificates"
    threads = None

    def cells(self, selection: Selection) -> list[PacBayesCell]:
        """The cells by network, in the order of the paper."""
        selection.refuse(*BANDITS_ONLY, *KEEL_ONLY)
        networks = chosen("network", selection.networks, NETWORKS)
        objectives = chosen("objective", selection.objectives, OBJECTIVES)
        posteriors = chosen("posterior", selection.posteriors, POSTERIORS)
        overrides = selection.overrides or {}
        refuse_overrides(overrides)
        certification = Certification(PREDICTORS, **(selection.sampling or {}))
        found = [
            _cell(network, objective, posterior, overrides, certification)
            for network in networks
            for objective in objectives
            for posterior in posteriors
            if posterior in OBJECTIVES[objective] and (objective == "ours" or network not in SMALL)
        ]
        if not found:
            raise SettingError(
                "the table has no such cells: pinsker with k-nonlinear would need an exact KL, and "
                f"{' and '.join(SMALL)} have only the objective ours"
            )
        return found

    def rows(self, cells: Sequence[PacBayesCell], root: Path) -> list[Row]:
        """One row per cell."""
        return [row(cell, Place.of(cell, root).path) for cell in cells]

    def render(self, rows: Sequence[Row]) -> Any:
        """The rows as a rich renderable."""
        return render(self.title, rows)

    def results(self, cell: PacBayesCell, folder: Path) -> dict[str, Path]:
        """The certificates."""
        return cell.results(folder)


def _cell(
    network: str,
    objective: str,
    posterior: str,
    overrides: Any,
    certification: Certification,
) -> PacBayesCell:
    own = {"posterior": posterior}
    if objective != "ours":
        own["objective"] = objective
    settings = recipe(network, {**overrides, **own})
    prior_choices(settings)  # a prior that no certificate could pay for is refused now
    return PacBayesCell(settings, certification, network, objective, posterior)


TABLE = PacBayesTable()
