"""The tables of published runs of contextual bandits."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pacbound.errors import ResultError
from pacbound.experiments.bandit.comparison import Average, paired, winners
from pacbound.experiments.bandit.paper import BANDIT_REGRETS, Regret
from pacbound.experiments.bandit.problems import problem_names
from pacbound.experiments.bandit.rows import BASELINES
from pacbound.experiments.bandit.settings import AgentSettings

__all__ = [
    "against_linear_table",
    "differences_table",
    "jester_table",
    "lost_seeds_table",
    "spread_table",
    "tuned_table",
    "untuned_table",
]

POSTERIORS = ("diag", "k-diag", "k-linear", "k-nonlinear")
ALWAYS = ("linear", "greedy", *POSTERIORS)  # columns, also if there are no runs yet
WIDTH = 4  # agents in one table
Regrets = dict[str, dict[int, float]]  # by agent and seed
Papers = Mapping[str, Mapping[str, Regret]]  # the paper's figures by problem and agent


def tuned_table(folder: Path) -> str:
    """Regret with the recipes' settings, beside the paper's."""
    return _table(folder, "tuned")


def untuned_table(folder: Path) -> str:
    """Regret with the same settings for all agents, beside the paper's."""
    return _table(folder, "untuned")


def _table(folder: Path, protocol: str) -> str:
    """Problems by agents: the mean over seeds and its standard error, with the paper's below.

    The baselines come first, then the posteriors, a few to a table: a phone shows no more columns.
    """
    regrets = _published(folder)
    papers = BANDIT_REGRETS[protocol]
    known = {agent for found in regrets.values() for agent in found}
    known |= {agent for figures in papers.values() for agent in figures}
    shown = [
        [agent for agent in agents if agent in known or agent in ALWAYS]
        for agents in (BASELINES, POSTERIORS)
    ]
    parts = [
        agents[first : first + WIDTH] for agents in shown for first in range(0, len(agents), WIDTH)
    ]
    return "\n\n".join(_part(regrets, papers, agents) for agents in parts)


def _part(regrets: dict[str, Regrets], papers: Papers, agents: Sequence[str]) -> str:
    """The columns of some agents."""
    rows = [f"| problem | {' | '.join(agents)} |", "|---" * (len(agents) + 1) + "|"]
    for problem in problem_names():
        found = regrets.get(problem, {})
        if not found:
            continue
        best = winners(found).best
        most = max(len(own) for own in found.values())
        ours = [_ours(Average.of(found.get(a, {}).values()), a == best, most) for a in agents]
        theirs = [f"{papers[problem][a].mean:.2f}" if a in papers[problem] else "–" for a in agents]
        rows.append(f"| {problem}, {_seeds(most)} | {' | '.join(ours)} |")
        rows.append(f"| *the paper's* | {' | '.join(theirs)} |")
    return "\n".join(rows)


def differences_table(folder: Path) -> str:
    """The best posterior of each problem against the best baseline, on the same seeds."""
    rows = [
        "| problem | best posterior | best baseline | difference | 95 % interval | seeds |",
        "|---|---|---|---|---|---|",
    ]
    for problem, found in _published(folder).items():
        ours, theirs = (_best(found, agents) for agents in (POSTERIORS, BASELINES))
        difference = paired(found[ours], found[theirs]) if ours and theirs else None
        if difference is not None:
            rows.append(
                f"| {problem} | {ours} | {theirs} | {difference.mean:+.2f} | "
                f"{_interval(difference)} | {difference.count} |"
            )
    return "\n".join(rows)


def against_linear_table(folder: Path) -> str:
    """Every posterior minus linear regression on the same seeds; bold: above a standard error."""
    rows = [f"| problem | {' | '.join(POSTERIORS)} |", "|---" * (len(POSTERIORS) + 1) + "|"]
    for problem, found in _published(folder).items():
        cells = []
        for agent in POSTERIORS:
            difference = paired(found.get(agent, {}), found.get("linear", {}))
            if difference is None or difference.standard_error is None:
                cells.append("–")
                continue
            words = f"{difference.mean:+.2f}"
            if difference.mean > difference.standard_error:
                words = f"**{words}**"
            cells.append(f"{words} ± {difference.standard_error:.2f}")
        rows.append(f"| {problem} | {' | '.join(cells)} |")
    return "\n".join(rows)


def lost_seeds_table(folder: Path) -> str:
    """The worst seed's regret over the median's, for every problem and posterior."""
    agents = ("linear", *POSTERIORS)
    rows = [f"| problem | {' | '.join(agents)} |", "|---" * (len(agents) + 1) + "|"]
    for problem, found in _published(folder).items():
        ratios = [
            f"{max(runs.values()) / statistics.median(runs.values()):.2f}" if runs else "–"
            for runs in (found.get(agent, {}) for agent in agents)
        ]
        rows.append(f"| {problem} | {' | '.join(ratios)} |")
    return "\n".join(rows)


def jester_table(folder: Path) -> str:
    """Regret in jester against what can be compared between choices of jokes."""
    rows = [
        "| agent | regret | in per cent of the best fixed arm's | minus linear regression's "
        "(95 % interval) |",
        "|---|---|---|---|",
    ]
    found = _published(folder).get("jester", {})
    fixed = _published(folder, fixed=True).get("jester", {})
    for agent in (agent for agent in (*BASELINES, *POSTERIORS) if agent in found):
        runs = found[agent]
        regret = Average.of(runs.values())
        relative = Average.of(100 * runs[seed] / fixed[agent][seed] for seed in runs)
        difference = paired(runs, found.get("linear", {}))
        words = "–"
        if difference is not None and agent != "linear":
            words = f"{difference.mean:+.2f} ({_interval(difference)})"
        cells = [_ours(one, False, len(runs)) for one in (regret, relative)]
        rows.append(f"| {agent} | {cells[0]} | {cells[1]} | {words} |")
    return "\n".join(rows)


def spread_table(folder: Path) -> str:
    """Whether single seeds are lost in mushroom: the worst against the median."""
    rows = ["| agent | median | worst seed | worst ÷ median | seeds |", "|---|---|---|---|---|"]
    found = _published(folder).get("mushroom", {})
    for agent in (agent for agent in (*BASELINES, *POSTERIORS) if agent in found):
        regrets = [*found[agent].values()]
        middle, worst = statistics.median(regrets), max(regrets)
        rows.append(
            f"| {agent} | {middle:.2f} | {worst:.2f} | {worst / middle:.2f} | {len(regrets)} |"
        )
    return "\n".join(rows)


def _best(found: Regrets, agents: Sequence[str]) -> str | None:
    """The agent with the smallest mean among those with the most seeds."""
    runs = {agent: found[agent] for agent in agents if found.get(agent)}
    if len(runs) < 2:
        return next(iter(runs), None)
    return winners(runs).best


def _interval(average: Average) -> str:
    found = average.interval()
    return "–" if found is None else f"{found[0]:+.2f} to {found[1]:+.2f}"


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


def _published(folder: Path, fixed: bool = False) -> dict[str, Regrets]:
    """Regret by problem, agent and seed; or that of the best fixed arm on the same streams.

    ResultError if the seeds of an agent have different settings: their mean would mean nothing.
    """
    regrets: dict[str, Regrets] = {problem: {} for problem in problem_names()}
    settings: dict[tuple[str, str], AgentSettings] = {}
    for path in sorted(folder.glob("*.json")):
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        own_settings = AgentSettings.from_mapping(record["settings"])
        if settings.setdefault((record["problem"], record["agent"]), own_settings) != own_settings:
            raise ResultError(f"{path} has other settings than the seeds before it")
        own = regrets[record["problem"]].setdefault(record["agent"], {})
        figures = record["best_fixed_arm"] if fixed else record
        own[record["seed"]] = figures["normalized_regret"]
    return regrets
