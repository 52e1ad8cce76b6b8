"""Estimates come from what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_cells import FakeCell

from pacbound.experiments.tables.cell import Measured, Progress
from pacbound.experiments.tables.costs import Costs, makespan


@dataclass(frozen=True)
class TimedCell(FakeCell):
    times: tuple[Measured, ...] = ()

    def measured(self, folder: Path) -> list[Measured]:
        return list(self.times)


def test_left_counts_from_where_a_cell_is(tmp_path: Path) -> None:
    cell = FakeCell("a")
    costs = Costs([cell], tmp_path)
    assert costs.left(cell) is None
    assert costs.unknown([cell, FakeCell("b")]) == [cell]  # one of each kind
    costs.add_probe("fake", cell.probe(1))
    assert costs.unknown([cell]) == []
    assert costs.left(cell) == 25.0
    assert costs.left(cell, Progress("working", 1.5)) == 10.0
    assert costs.left(cell, Progress("checking", 0.2)) == pytest.approx(4.0)


def test_files_count_more_than_trials_and_new_ones_more_than_old(tmp_path: Path) -> None:
    old = TimedCell("old", times=(Measured("working", 2.0, 8.0, when=1.0),))
    new = TimedCell("new", times=(Measured("working", 4.0, 4.0, when=2.0),))
    costs = Costs([new, old], tmp_path)
    costs.add_probe("fake", {"working": 100.0, "checking": 5.0})
    assert costs.pace("fake", "working") == 1.0
    assert costs.pace("fake", "checking") == 5.0


def test_makespan() -> None:
    assert makespan([], [], 2) == 0
    assert makespan([], [3, 3, 3], 1) == 9
    assert makespan([], [3, 3, 3], 2) == 6
    assert makespan([10, 1], [3, 3], 2) == 10
