"""Draws in [0, 1] as they are counted: pairs (errors, times) of so many errors in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

__all__ = ["Counts", "draws_and_mean"]

# `times` draws had errors/batch as their value, for each pair (errors, times).
Counts: TypeAlias = Sequence[tuple[int, int]]


def draws_and_mean(counts: Counts, batch: int) -> tuple[int, Fraction]:
    """How many draws there are, and their mean, exactly; ValueError for impossible counts."""
    draws = sum(times for _, times in counts)
    possible = all(0 <= errors <= batch and times >= 1 for errors, times in counts)
    if not (possible and batch > 0 and draws > 0):
        raise ValueError(
            f"need draws of 0 ≤ errors ≤ {batch}, and at least one, got {counts!s:.200}"
        )
    return draws, Fraction(sum(errors * times for errors, times in counts), draws * batch)
