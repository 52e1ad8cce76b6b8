"""A cell of the table: one training around a learned prior, and three certificates of it."""

from __future__ import annotations

from dataclasses import dataclass

from pacbound.experiments.tables.certified import CertifiedCell

__all__ = ["PREDICTORS", "LearnedCell"]

PREDICTORS = ("fixed", "draw", "gibbs")  # from the quickest to the slowest


@dataclass(frozen=True)
class LearnedCell(CertifiedCell):
    """One network, with the posterior of its recipe."""

    network: str

    @property
    def name(self) -> str:
        """The name of the folder; that of a published certificate has the predictor too."""
        return self.network

    @property
    def kind(self) -> str:
        """Every network has its own pace."""
        return f"{self.network} {self.settings.posterior}"
