"""Rows of runs: the mean over seeds for every problem and agent, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pacbound.experiments.bandit import paper
from pacbound.experiments.bandit.cell import BanditCell
from pacbound.experiments.bandit.comparison import Average, paired, winners
from pacbound.experiments.bandit.result import RESULT
from pacbound.experiments.tables.cell import Row
from pacbound.experiments.tables.place import Place

__all__ = ["BASELINES", "rows"]

BASELINES = ("linear", "neural-linear", "bootstrap", "vw", "greedy", "fbnn")
FIGURES = ("normalized_regret", "regret", "reward", "steps", "seconds", "best_fixed_arm")


def rows(cells: Sequence[BanditCell], root: Path, protocol: str) -> list[Row]:
    """One row per problem and agent; regret in per cent of the uniform policy's.

    The paper's figures are for whole streams, so a shortened stream has none beside it.
    """
    groups: dict[str, dict[str, list[BanditCell]]] = {}
    for cell in cells:
        groups.setdefault(cell.problem, {}).setdefault(cell.agent, []).append(cell)
    found: list[Row] = []
    for problem, agents in groups.items():
        whole = all(cell.steps is None for own in agents.values() for cell in own)
        published = paper.BANDIT_REGRETS[protocol].get(problem, {}) if whole else {}
        runs = {agent: [_run(cell, root) for cell in own] for agent, own in agents.items()}
        found += _of_problem(next(iter(agents.values()))[0].label, runs, published)
    return found


def _of_problem(
    problem: str, runs: dict[str, list[Row]], published: dict[str, paper.Regret]
) -> list[Row]:
    regrets = {
        agent: {run["seed"]: run["normalized_regret"] for run in own if run["state"] == "done"}
        for agent, own in runs.items()
    }
    outcome = winners(regrets)
    fixed = {
        run["seed"]: run["best_fixed_arm"]["normalized_regret"]
        for own in runs.values()
        for run in own
        if run["state"] == "done"
    }
    baseline = _best_baseline(regrets)
    return [
        {
            "problem": problem,
            "agent": agent,
            **_mapping(Average.of(regrets[agent].values())),
            "best": agent == outcome.best,
            "close": agent in outcome.close,
            "best_fixed_arm": _mapping(Average.of(fixed.values())),
            "baseline": baseline,
            "difference": _difference(regrets, agent, baseline),
            "paper": asdict(published[agent]) if agent in published else None,
            "runs": own,
        }
        for agent, own in runs.items()
    ]


def _best_baseline(regrets: Mapping[str, Mapping[int, float]]) -> str | None:
    """The baseline with the smallest mean among those with the most runs."""
    runs = {agent: regrets[agent] for agent in BASELINES if regrets.get(agent)}
    return winners(runs).best or next(iter(runs), None)


def _difference(
    regrets: Mapping[str, Mapping[int, float]], agent: str, baseline: str | None
) -> dict[str, Any] | None:
    """How much more regret an agent has than the baseline on the same seeds, with 95 % limits."""
    if baseline is None or agent == baseline:
        return None
    found = paired(regrets[agent], regrets[baseline])
    if found is None:
        return None
    lower, upper = found.interval() or (None, None)
    return {**asdict(found), "lower": lower, "upper": upper}


def _run(cell: BanditCell, root: Path) -> Row:
    folder = Place.of(cell, root).path
    verdict = cell.finished(folder)
    figures: Row = dict.fromkeys(FIGURES)
    if verdict.finished:
        state, detail = "done", ""
        record = cell.record(folder)
        figures = {name: record[name] for name in FIGURES}
    else:
        state, detail = Place(folder).state(cell, verdict.flaw)
    return {
        "name": cell.name,
        "seed": cell.seed,
        "state": state,
        "detail": detail,
        **figures,
        "result": str(folder / RESULT) if verdict.finished else None,
    }


def _mapping(average: Average | None) -> dict[str, Any]:
    if average is None:
        return {"mean": None, "standard_error": None, "count": 0}
    return asdict(average)
