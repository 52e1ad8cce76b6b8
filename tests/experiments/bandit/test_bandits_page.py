"""The page's table of bandits says what the published runs say."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from pacbound.errors import PacboundError
from pacbound.experiments.bandit.page import (
    against_linear_table,
    differences_table,
    jester_table,
    lost_seeds_table,
    spread_table,
    tuned_table,
    untuned_table,
)
from pacbound.experiments.bandit.paper import BANDIT_REGRETS

REGRETS = {"linear": [7.0, 8.0, 9.0], "k-linear": [1.5, 1.25, 2.5], "diag": [1.0]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for agent, regrets in REGRETS.items():
        for seed, regret in enumerate(regrets):
            record = {"problem": "mushroom", "agent": agent, "seed": seed, "settings": {}}
            fixed = {"best_fixed_arm": {"normalized_regret": 2 * (seed + 1)}}
            text = json.dumps({**record, **fixed, "normalized_regret": regret})
            (tmp_path / f"mushroom-{agent}-{seed}.json").write_text(text)
    return tmp_path


def test_seeds_of_other_settings_are_refused(folder: Path) -> None:
    path = folder / "mushroom-k-linear-2.json"
    record = json.loads(path.read_text()) | {"settings": {"noise": 0.3}}
    path.write_text(json.dumps(record))
    with pytest.raises(PacboundError, match=r"mushroom-k-linear-2\.json has other settings"):
        tuned_table(folder)


def cells(table: str, row: int) -> list[str]:
    """A row of the table, or of its parts side by side."""
    parts = [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines()]
        for part in table.split("\n\n")
    ]
    for lines in parts:
        assert {len(line) for line in lines} == {len(lines[0])}
        assert len(lines[0]) <= 6  # a phone shows no more
    assert len({lines[row][0] for lines in parts}) == 1
    return [parts[0][row][0], *(cell for lines in parts for cell in lines[row][1:])]


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


def test_the_best_posterior_is_compared_on_the_same_seeds(folder: Path) -> None:
    row = cells(differences_table(folder), 2)
    differences = [ours - theirs for ours, theirs in zip(*two_of(REGRETS), strict=True)]
    mean, error = statistics.mean(differences), statistics.stdev(differences) / 3**0.5
    reach = 4.30265 * error  # Student's quantile with two degrees of freedom
    assert row[:4] == ["mushroom", "k-linear", "linear", f"{mean:+.2f}"]
    assert row[4:] == [f"{mean - reach:+.2f} to {mean + reach:+.2f}", "3"]


def two_of(regrets: dict[str, list[float]]) -> tuple[list[float], list[float]]:
    return regrets["k-linear"], regrets["linear"]


def test_the_worst_seed_stands_beside_the_median(folder: Path) -> None:
    rows = {row[0]: row[1:] for row in (cells(spread_table(folder), i) for i in (2, 3, 4))}
    assert rows["k-linear"] == ["1.50", "2.50", "1.67", "3"]
    assert rows["diag"] == ["1.00", "1.00", "1.00", "1"]


def test_posteriors_stand_against_linear_regression(folder: Path) -> None:
    table = against_linear_table(folder)
    row = dict(zip(cells(table, 0), cells(table, 2), strict=True))
    differences = [ours - theirs for ours, theirs in zip(*two_of(REGRETS), strict=True)]
    error = statistics.stdev(differences) / 3**0.5
    assert row["k-linear"] == f"{statistics.mean(differences):+.2f} ± {error:.2f}"
    assert row["diag"] == "–"  # of one seed
    for path in folder.glob("*k-linear*"):
        record = json.loads(path.read_text())
        path.write_text(json.dumps({**record, "normalized_regret": 30.0}))
    assert cells(against_linear_table(folder), 2)[3].startswith("**+")


def test_lost_seeds_are_shown_for_every_problem(folder: Path) -> None:
    table = lost_seeds_table(folder)
    row = dict(zip(cells(table, 0), cells(table, 2), strict=True))
    assert row["k-linear"] == "1.67" and row["diag"] == "1.00" and row["k-diag"] == "–"


def test_jester_is_relative_to_the_fixed_arm_and_to_linear_regression(folder: Path) -> None:
    for path in list(folder.iterdir()):
        record = json.loads(path.read_text())
        path.write_text(json.dumps({**record, "problem": "jester"}))
    rows = {row[0]: row[1:] for row in (cells(jester_table(folder), i) for i in (2, 3, 4))}
    relative = [100 * regret / (2 * (seed + 1)) for seed, regret in enumerate(REGRETS["k-linear"])]
    error = statistics.stdev(relative) / 3**0.5
    assert rows["k-linear"][1] == f"{statistics.mean(relative):.2f} ± {error:.2f}"
    assert rows["k-linear"][2].startswith("-6.25 (")
    assert rows["diag"] == ["1.00", "50.00", "-6.00 (–)"]
    assert rows["linear"][2] == "–"


def test_problems_without_runs_are_left_out(folder: Path) -> None:
    assert [len(part.splitlines()) for part in tuned_table(folder).split("\n\n")] == [4, 4]
