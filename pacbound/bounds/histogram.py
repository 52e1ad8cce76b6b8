"""Counted draws in [0, 1]: pairs (errors, times) of errors in a batch and how often they came."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

__all__ = ["Counts", "draws_and_mean"]

# For each pair (errors, times), `times` draws had the value errors/batch.
Counts: TypeAlias = Sequence[tuple[int, int]]


def draws_and_mean(counts: Counts, batch: int) -> tuple[int, Fraction]:
    """The number of draws and their exact mean; ValueError for impossible counts."""
    draws = sum(times for _, times in counts)
    possible = all(0 <= errors <= batch and times >= 1 for errors, times in counts)
    if not (possible and batch > 0 and draws > 0):
        raise ValueError(
            f"need draws of 0 ≤ errors ≤ {batch}, and at least one, got {counts!s:.200}"
        )
    return draws, Fraction(sum(errors * times for errors, times in counts), draws * batch)
