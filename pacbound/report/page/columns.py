"""The columns of the overview."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COLUMNS", "FILTERS", "Column"]


@dataclass(frozen=True)
class Column:
    """A heading, the field of the summary, and its format."""

    title: str
    field: str
    kind: str  # text, status, count, nats, percent or bound
    explanation: str = ""

    @property
    def numeric(self) -> bool:
        return self.kind not in ("text", "status")


COLUMNS = (
    Column("Status", "status", "status"),
    Column(
        "Bound %",
        "risk_bound",
        "bound",
        "the error, or else the first claim, at most",
    ),
    Column("Risk %", "empirical_risk", "percent", "the empirical risk on the counted examples"),
    Column("Test %", "test_error", "percent", "the error on held-out examples; not in the claim"),
    Column("Paper %", "paper_bound", "percent", "the paper's bound for the same kind of network"),
    Column("KL nats", "nats", "nats", "KL(q‖p), or ln dq/dp at the weights of a draw"),
    Column("Data", "data", "text"),
    Column("m", "m", "count", "examples that are counted"),
    Column("Claims", "claims", "count", "bounds that hold together"),
    Column("Predictor", "predictor", "text"),
    Column("Prior", "prior", "text"),
    Column("Posterior", "posterior", "text"),
    Column("Monitor", "monitored", "text", "what outcomes after deployment say of the claims"),
)
FILTERS = ("data", "predictor", "prior", "posterior", "status")
