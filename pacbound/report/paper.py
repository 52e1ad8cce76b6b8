"""The source paper's PAC-Bayes bounds, for comparison.

Huang et al., "Stochastic Neural Network with Kronecker Flow" (AISTATS 2020), Table 3.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PAC_BAYES", "Cell", "closest"]


@dataclass(frozen=True)
class Cell:
    """One column of the table: per cent, and nats."""

    objective: str
    risk: float
    test: float
    bound: float
    kl: int


# By recipe and posterior.
PAC_BAYES: dict[tuple[str, str], list[Cell]] = {
    ("mlp-600", "diag"): [
        Cell("Pinsker", 6.62, 6.66, 23.77, 5968),
        Cell("Catoni", 8.04, 7.78, 24.11, 5001),
    ],
    ("mlp-600", "k-linear"): [
        Cell("Pinsker", 6.09, 5.98, 21.69, 5292),
        Cell("Catoni", 8.10, 7.98, 22.88, 4334),
    ],
    ("mlp-600", "k-nonlinear"): [Cell("Catoni", 5.96, 5.83, 20.41, 4725)],
    ("mlp-600x2", "diag"): [
        Cell("Pinsker", 6.00, 6.12, 25.94, 7829),
        Cell("Catoni", 7.66, 7.70, 26.41, 6555),
    ],
    ("mlp-600x2", "k-linear"): [
        Cell("Pinsker", 5.90, 5.96, 25.33, 7554),
        Cell("Catoni", 8.33, 8.26, 26.43, 5996),
    ],
    ("mlp-600x2", "k-nonlinear"): [Cell("Catoni", 5.90, 5.76, 22.53, 5921)],
    ("lenet-5", "diag"): [Cell("Catoni", 2.12, 2.31, 10.83, 3177)],
    ("lenet-5", "k-diag"): [Cell("Catoni", 2.95, 2.87, 12.96, 3477)],
    ("lenet-5", "k-linear"): [Cell("Catoni", 2.00, 1.91, 10.09, 2913)],
    ("lenet-5", "k-nonlinear"): [Cell("Catoni", 2.01, 2.14, 10.03, 2873)],
}


# Recipes with an architecture of the paper and another prior.
SAME_ARCHITECTURE = {f"{name}-blocks": name for name in ("mlp-600", "mlp-600x2", "lenet-5")}


def closest(recipe: str, posterior: str, objective: str) -> Cell | None:
    """The column with the same objective; the best column if the paper lacks the objective."""
    columns = PAC_BAYES.get((SAME_ARCHITECTURE.get(recipe, recipe), posterior), [])
    if objective in ("pinsker", "catoni"):
        columns = [column for column in columns if column.objective.lower() == objective]
    return min(columns, key=lambda column: column.bound, default=None)
