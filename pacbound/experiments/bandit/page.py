"""The table of published runs of contextual bandits."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from pacbound.experiments.bandit.comparison import Average, winners
from pacbound.experiments.bandit.paper import BANDIT_REGRETS
from pacbound.experiments.bandit.problems import problem_names

__all__ = ["tuned_table", "untuned_table"]

AGENTS = ("linear", "greedy", "diag", "k-diag", "k-linear", "k-nonlinear")


def tuned_table(folder: Path) -> str:
    """Regret with the recipes' settings, beside the paper's."""
    return _table(folder, "tuned")


def untuned_table(folder: Path) -> str:
    """Regret with the same settings for all agents, beside the paper's."""
    return _table(folder, "untuned")


def _table(folder: Path, protocol: str) -> str:
    """Problems by agents: the mean over seeds and its standard error, with the paper's below."""
    regrets = _published(folder)
    rows = [f"| problem | {' | '.join(AGENTS)} |", "|---" * (len(AGENTS) + 1) + "|"]
    for problem in problem_names():
        found = regrets.get(problem, {})
        if not found:
            continue
        best = winners(found).best
        most = max(len(own) for own in found.values())
        ours = [_ours(Average.of(found.get(a, {}).values()), a == best, most) for a in AGENTS]
        published = BANDIT_REGRETS[protocol][problem]
        papers = [f"{published[a].mean:.2f}" if a in published else "–" for a in AGENTS]
        rows.append(f"| {problem}, {_seeds(most)} | {' | '.join(ours)} |")
        rows.append(f"| *the paper's* | {' | '.join(papers)} |")
    return "\n".join(rows)


def _ours(average: Average | None, best: bool, most: int) -> str:
    """A cell of the table; it shows its number of seeds if others in its row have more."""
    if average is None:
        return "–"
    words = f"**{average.mean:.2f}**" if best else f"{average.mean:.2f}"
    if average.standard_error is not None:
        words += f" ± {average.standard_error:.2f}"
    return words if average.count == most else f"{words} ({_seeds(average.count)})"


def _seeds(count: int) -> str:
    return f"{count} seed{'s' * (count > 1)}"


def _published(folder: Path) -> dict[str, dict[str, dict[int, float]]]:
    """Regret by problem, agent and seed."""
    regrets: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for path in sorted(folder.glob("*.json")):
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        own = regrets[record["problem"]][record["agent"]]
        own[record["seed"]] = record["normalized_regret"]
    return regrets
