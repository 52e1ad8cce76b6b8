"""A cell of the table: training, then the certificates of one draw and of the Gibbs predictor."""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.experiments.tables.certified import CertifiedCell

__all__ = ["PREDICTORS", "PacBayesCell"]

PREDICTORS = ("draw", "gibbs")  # from the quickest to the slowest


@dataclass(frozen=True)
class PacBayesCell(CertifiedCell):
    """One network, objective and posterior."""

    network: str
    objective: str  # "ours" for the recipe's own
    posterior: str

    @property
    def name(self) -> str:
        """The name of the folder; that of a published certificate has the predictor too."""
        parts = (self.network, self.objective, self.posterior)
        return "-".join(part for part in parts if part != "ours")

    @property
    def kind(self) -> str:
        """The kind without the objective, which takes negligible time."""
        return f"{self.network} {self.posterior}"
