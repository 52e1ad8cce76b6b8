"""The page's table of bandits says what the published runs say."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from pacbound.experiments.bandit.page import tuned_table, untuned_table
from pacbound.experiments.bandit.paper import BANDIT_REGRETS

REGRETS = {"linear": [7.0, 8.0, 9.0], "k-linear": [1.5, 1.25, 2.5], "diag": [1.0]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for agent, regrets in REGRETS.items():
        for seed, regret in enumerate(regrets):
            record = {"problem": "mushroom", "agent": agent, "seed": seed}
            text = json.dumps({**record, "normalized_regret": regret})
            (tmp_path / f"mushroom-{agent}-{seed}.json").write_text(text)
    return tmp_path


def cells(table: str, row: int) -> list[str]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert {len(line) for line in lines} == {len(lines[0])}
    return lines[row]


def test_means_and_errors_are_those_of_the_files(folder: Path) -> None:
    table = tuned_table(folder)
    ours = dict(zip(cells(table, 0), cells(table, 2), strict=True))
    error = statistics.stdev(REGRETS["k-linear"]) / 3**0.5
    assert ours["problem"] == "mushroom, 3 seeds"
    assert ours["k-linear"] == f"**1.75** ± {error:.2f}"
    assert ours["linear"] == "8.00 ± 0.58"
    assert (
        ours["diag"] == "1.00 (1 seed)"
    )  # of one seed: no error, and no winner over those of three
    assert ours["k-diag"] == "–"


@pytest.mark.parametrize("make", [tuned_table, untuned_table])
def test_the_papers_figures_stand_below(folder: Path, make: object) -> None:
    protocol = "tuned" if make is tuned_table else "untuned"
    table = tuned_table(folder) if make is tuned_table else untuned_table(folder)
    papers = dict(zip(cells(table, 0), cells(table, 3), strict=True))
    assert papers["k-linear"] == f"{BANDIT_REGRETS[protocol]['mushroom']['k-linear'].mean:.2f}"
    assert papers["linear"] == "–"


def test_problems_without_runs_are_left_out(folder: Path) -> None:
    assert len(tuned_table(folder).splitlines()) == 4
