"""Upper confidence limits of a mean from sampled weights, by name. A new one is one line here."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from pacbound.bounds import betting, chernoff
from pacbound.bounds.arithmetic import Real
from pacbound.bounds.histogram import Counts, draws_and_mean

__all__ = ["LIMITS"]


def _chernoff(counts: Counts, batch: int, level: Real) -> Decimal:
    draws, mean = draws_and_mean(counts, batch)
    return chernoff.limit(mean, draws, level)


# Called with counts, the batch size, and ln(1/δ) as an interval; in `precise`.
LIMITS: dict[str, Callable[[Counts, int, Real], Decimal]] = {
    "betting": betting.limit,
    "chernoff": _chernoff,
}
