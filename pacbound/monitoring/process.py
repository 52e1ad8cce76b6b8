"""Fold outcomes into the state of a monitor: counts, alarms, and points for plots."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pacbound.monitoring.sequential import (
    SCALE,
    Counts,
    first_start,
    increments,
    log_needed,
    log_wealth,
    period,
    started,
)
from pacbound.monitoring.state import Point, State, Watched
from pacbound.monitoring.watching import Bets

__all__ = ["Path", "fold"]

BLOCK = 2**15  # outcomes at a time
FEW = 8  # distinct losses that are counted instead of summed
POINTS = 128  # at most so many rows of the past are kept

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def _kept(rows: int) -> range:
    """The rows at which the past is kept: multiples of the least power of 2 that is enough.

    They depend on the number of rows alone, and those of more rows are among the old and new ones.
    """
    step = 1
    while rows // step > POINTS:
        step *= 2
    return range(step, rows + 1, step)


def fold(state: State, bets: list[Bets], rows: int) -> None:
    """Continue a state until it has seen `rows` rows; `bets` are those of the rows after."""
    kept = _kept(rows)
    old = [place for place, row in enumerate(state.points) if row in kept]
    new = np.array([row for row in kept if row > state.rows], np.int64)
    for each, own in zip(state.claims, bets, strict=True):
        each.history = [each.history[place] for place in old] + _fold(each, own, new, state.share)
    state.points = [state.points[place] for place in old] + new.tolist()
    state.rows = rows


def _fold(each: Watched, bets: Bets, points: Integers, share: float) -> list[Point]:
    """Add the outcomes of a claim; its points at these rows."""
    before = each.outcomes
    totals = np.concatenate([[0], np.cumsum(bets.losses)]) + each.total
    path = Path(bets.losses, float(each.claim.bound), each.counts, each.past)
    if each.refuted_at is None:
        crossing = path.first_crossing(share)
        each.refuted_at = None if crossing is None else int(bets.rows[crossing - 1]) + 1
    numbers = np.searchsorted(bets.rows, points)  # of the claim's new outcomes up to each row
    evidence = [value for _, values in path.log_evidence(numbers) for value in values.tolist()]
    each.past = path.starts[-1]
    for loss, times in enumerate(np.bincount(bets.losses).tolist()):
        if times:
            each.counts[loss] = each.counts.get(loss, 0) + times
    return [
        Point(before + number, int(totals[number]), value if before + number else 0.0)
        for number, value in zip(numbers.tolist(), evidence, strict=True)
    ]


class Path:
    """The wealth of a gambler over some outcomes, after others that were seen before.

    All sums of growth are of whole numbers, and starts are added in their order, so a stream that
    is interrupted continues exactly.

    Arguments:
        losses: In units of 1/SCALE, (n,).
        seen: The losses before these.
        past: The sums over starts before these; needed if something was seen.
    """

    def __init__(
        self, losses: Integers, bound: float, seen: Counts | None = None, past: Floats | None = None
    ) -> None:
        self.losses, self.bound, self.seen = losses, bound, seen or {}
        self.before, self.period = sum(self.seen.values()), period(bound)
        first = self.before // self.period + 1
        numbers = np.arange(first * self.period, self.before + len(losses) + 1, self.period)
        old = first_start(bound) if past is None else past
        blocks = [growth for _, growth in self._growth(numbers - self.before)]
        growth = np.concatenate([np.zeros((0, len(old)), np.int64), *blocks])
        self.starts = np.concatenate([old[None], started(growth, first, old)])  # (starts, K)

    def first_crossing(self, share: float) -> int | None:
        """The number of the outcome, from 1, at which the evidence first reaches 1/share."""
        # The wealth grows by losses over the bound alone, so it can reach a level nowhere else.
        rises = np.flatnonzero(self.losses > self.bound * SCALE) + 1
        for numbers, logs in self.log_evidence(rises):
            reached = np.flatnonzero(logs >= log_needed(share))
            if len(reached):
                return int(numbers[reached[0]])
        return None

    def log_evidence(self, numbers: Integers) -> Iterator[tuple[Integers, Floats]]:
        """ln M after rising numbers of losses, rounded down, in blocks with these numbers."""
        for block, growth in self._growth(numbers):
            place = (self.before + block) // self.period
            past = self.starts[place - self.before // self.period]
            yield block, log_wealth(growth, past, place + 1)

    def _growth(self, numbers: Integers) -> Iterator[tuple[Integers, Integers]]:
        """The sums of increments after rising numbers of losses, (n, K), in blocks."""
        losses = self.losses
        times = np.array(list(self.seen.values()), np.int64)
        base = times @ increments(np.array(list(self.seen), np.int64), self.bound)
        values = np.flatnonzero(np.bincount(losses, minlength=SCALE + 1))
        growth = increments(values, self.bound)
        if 0 < len(values) <= FEW:
            places = [np.flatnonzero(losses == value) for value in values]
            for start in range(0, len(numbers), BLOCK):
                block = numbers[start : start + BLOCK]
                counts = np.stack([np.searchsorted(where, block) for where in places], 1)
                yield block, base + counts @ growth
            return
        for start in range(0, len(losses) + 1, BLOCK):
            sums = np.cumsum(growth[np.searchsorted(values, losses[start : start + BLOCK])], 0)
            wealth = np.concatenate([base[None], base + sums])
            block = numbers[(numbers >= start) & (numbers < start + BLOCK)]
            yield block, wealth[block - start]
            base = wealth[-1]
