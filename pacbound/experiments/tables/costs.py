"""The duration of cells: measured from their files, or in a short trial."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from pacbound.experiments.tables.cell import Cell, Progress
from pacbound.experiments.tables.place import Place

__all__ = ["Costs", "makespan"]


class Costs:
    """Seconds per unit of work, for each kind of cell and each stage."""

    def __init__(self, cells: Sequence[Cell], root: Path) -> None:
        self._cells = cells
        self._root = root
        self._probed: dict[tuple[str, str], float] = {}
        self._measured: dict[tuple[str, str], float] = {}
        self.startup = 0.0  # seconds until a new process begins its work
        self.refresh()

    def refresh(self) -> None:
        """Read the cells' files again. The newest of a kind counts: it ran like the next ones."""
        newest: dict[tuple[str, str], float] = {}
        for cell in self._cells:
            for one in cell.measured(Place.of(cell, self._root).path):
                key = (cell.kind, one.stage)
                if one.amount > 0 and one.when >= newest.get(key, -math.inf):
                    newest[key] = one.when
                    self._measured[key] = one.seconds / one.amount

    def unknown(self, cells: Iterable[Cell]) -> list[Cell]:
        """One cell of each kind that has a stage without any measurement."""
        found: dict[str, Cell] = {}
        for cell in cells:
            if any(self.pace(cell.kind, stage) is None for stage in cell.work()):
                found.setdefault(cell.kind, cell)
        return list(found.values())

    def add_probe(self, kind: str, paces: Mapping[str, float]) -> None:
        """Use the paces of a trial; measurements from files replace them."""
        self._probed.update({(kind, stage): pace for stage, pace in paces.items()})

    def pace(self, kind: str, stage: str) -> float | None:
        """Seconds per unit of a stage's work, if known."""
        return self._measured.get((kind, stage), self._probed.get((kind, stage)))

    def left(
        self, cell: Cell, progress: Progress | None = None, inherited: Collection[str] = ()
    ) -> float | None:
        """Seconds until a cell is done, from its current state; None if a pace is unknown.

        Arguments:
            inherited: Stages that it need not run, because it begins with another cell's result.
        """
        total, passed = 0.0 if progress else self.startup, progress is not None
        for stage, amount in cell.work().items():
            if progress is None and stage in inherited:
                continue
            if progress is not None and stage == progress.stage:
                amount, passed = max(amount - progress.done, 0.0), False
            elif passed:
                continue  # an earlier stage
            if amount:
                pace = self.pace(cell.kind, stage)
                if pace is None:
                    return None
                total += amount * pace
        return total


def makespan(running: Iterable[float], waiting: Iterable[float], workers: int) -> float:
    """The end of the last cell, if each waiting cell goes to the first free worker.

    Example:
        >>> makespan([5.0], [10.0, 10.0], workers=2)
        15.0
    """
    free = [*running]
    free += [0.0] * (workers - len(free))
    heapq.heapify(free)
    for seconds in waiting:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free, default=0.0)
