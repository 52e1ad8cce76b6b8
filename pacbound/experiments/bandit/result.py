"""The files of a finished run: every step in one, the figures in another."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from pacbound import __version__
from pacbound.data.npz import UNREADABLE, read_all_arrays
from pacbound.errors import ResultError
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.run import Run, best_fixed_arm
from pacbound.files import file_digest, write_whole

__all__ = ["POINTS", "RESULT", "RUN", "check", "read", "write"]

RESULT, RUN = "result.json", "run.npz"
FORMAT = "pacbound-bandit-result/1"
POINTS = 100  # of the stored curve for plots
FIGURES = ("normalized_regret", "regret", "reward", "uniform_regret", "seconds")


def write(folder: Path, problem: Problem, run: Run, seconds: float) -> None:
    """Write arms and cumulative regret of every step, then the figures, which come last."""
    arrays: dict[str, Any] = {
        "arms": run.arms.astype(np.min_scalar_type(problem.arms - 1)),
        "regret": run.regret.astype(np.float32),
    }
    write_whole(folder / RUN, lambda stream: np.savez_compressed(stream, **arrays))
    fixed = best_fixed_arm(problem)
    fixed_regret = float(problem.optimal.sum() - problem.rewards[:, fixed].sum(dtype=np.float64))
    shown = np.unique(np.linspace(1, problem.steps, POINTS).round().astype(int))
    record = {
        "format": FORMAT,
        "problem": run.problem,
        "agent": run.agent,
        "seed": run.seed,
        "steps": problem.steps,
        "normalized_regret": float(run.normalized[-1]),
        "regret": float(run.regret[-1]),
        "reward": float(run.rewards.sum(dtype=np.float64)),
        "uniform_regret": problem.uniform_regret(),
        "best_fixed_arm": {
            "arm": fixed,
            "normalized_regret": float(problem.normalized(fixed_regret)),
        },
        "seconds": round(seconds, 3),
        "settings": run.settings.to_mapping(),
        "run_sha256": file_digest(folder / RUN),
        "version": __version__,
        "curve": {
            "steps": shown.tolist(),
            "normalized_regret": run.normalized[shown - 1].round(4).tolist(),
        },
    }
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    text = text.replace(',"', ',\n"') + "\n"  # one line per key; lists stay on one line
    write_whole(folder / RESULT, lambda stream: stream.write(text.encode()))


def read(folder: Path) -> dict[str, Any]:
    """The figures; PacboundError if something is missing."""
    path = folder / RESULT
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        numbers = [record[name] for name in FIGURES]
        numbers += [record["best_fixed_arm"][name] for name in ("arm", "normalized_regret")]
        curve = record["curve"]
        numbers += [*curve["steps"], *curve["normalized_regret"]]
        for name in ("problem", "agent", "seed", "run_sha256", "settings"):
            record[name]
        if (
            record["format"] != FORMAT
            or not all(math.isfinite(number) for number in numbers)
            or not len(curve["steps"]) == len(curve["normalized_regret"]) > 0
            or curve["steps"][-1] != record["steps"]
        ):
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path} is not a complete result") from error
    assert isinstance(record, dict)
    return record


def check(folder: Path, record: dict[str, Any]) -> None:
    """PacboundError if the figures contradict each other or the file of every step."""
    path = folder / RUN
    try:
        if file_digest(path) != record["run_sha256"]:
            raise ResultError("its result is of another run.npz")
        arrays = read_all_arrays(path)
        arms, regret = arrays["arms"], arrays["regret"]
    except UNREADABLE as error:
        raise ResultError(f"{path} cannot be read") from error
    normalized = 100 * record["regret"] / record["uniform_regret"]
    fits = (
        len(arms) == len(regret) == record["steps"]
        and math.isclose(regret[-1], record["regret"], rel_tol=1e-6, abs_tol=1e-6)
        and math.isclose(normalized, record["normalized_regret"], rel_tol=1e-9, abs_tol=1e-9)
        and abs(record["curve"]["normalized_regret"][-1] - normalized) < 1e-3
    )
    if not fits:
        raise ResultError("its result does not match the pulled arms")
