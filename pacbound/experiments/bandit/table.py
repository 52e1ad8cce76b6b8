"""The paper's two tables of bandits: regret by problem and agent, tuned and untuned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacbound.experiments.bandit.cell import BanditCell
from pacbound.experiments.bandit.problems import problem_names
from pacbound.experiments.bandit.recipes import TUNED, UNTUNED, settings_of_all
from pacbound.experiments.bandit.result import RESULT
from pacbound.experiments.bandit.rows import rows
from pacbound.experiments.bandit.view import render
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.selection import Selection, chosen

__all__ = ["AGENTS", "TUNED_TABLE", "UNTUNED_TABLE", "BanditTable"]

PAPER = ("greedy", "fbnn", "diag", "k-diag", "k-linear", "k-nonlinear")  # its SGD is greedy
DEFAULT = (*PAPER, "linear", "neural-linear", "bootstrap")
AGENTS = (*DEFAULT, "vw", "uniform")
OTHERS_ONLY = ("network", "objective", "posterior", "draws", "weights", "samples", "place")


class BanditTable:
    """Cells, rows and printing."""

    threads = 1  # products of this size gain nothing from a second thread

    def __init__(self, title: str, protocol: str, seeds: int, published: str) -> None:
        self.title, self.protocol, self.seeds, self.published = title, protocol, seeds, published

    def cells(self, selection: Selection) -> list[BanditCell]:
        """Seed by seed, so that an unfinished table compares all agents on the first seeds."""
        selection.refuse(*OTHERS_ONLY)
        problems = chosen("bandit problem", selection.problems, problem_names())
        agents = chosen("agent", selection.agents or DEFAULT, AGENTS)
        playing = selection.playing or {}
        first = playing.get("first_seed", 0)
        settings = {
            problem: settings_of_all(agents, problem, self.protocol, selection.overrides)
            for problem in problems
        }
        return [
            BanditCell(problem, agent, seed, settings[problem][agent], playing.get("steps"))
            for seed in range(first, first + playing.get("seeds", self.seeds))
            for problem in problems
            for agent in agents
        ]

    def rows(self, cells: Sequence[BanditCell], root: Path) -> list[Row]:
        """One row per problem and agent, with its runs."""
        return rows(cells, root, self.protocol)

    def render(self, rows: Sequence[Row]) -> Any:
        """The rows as a rich renderable."""
        return render(self.title, rows)

    def results(self, cell: BanditCell, folder: Path) -> dict[str, Path]:
        """The figures, without the file of every step."""
        return {f"{cell.name}.json": folder / RESULT}


TUNED_TABLE = BanditTable("Bandits, regret beside the paper's Table 4", TUNED, 10, "results/bandit")
UNTUNED_TABLE = BanditTable(
    "Bandits without tuning, regret beside the paper's appendix",
    UNTUNED,
    5,
    "results/bandit-untuned",
)
