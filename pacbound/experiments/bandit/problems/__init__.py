"""The six bandit problems of Riquelme, Tucker and Snoek (2018), and a user's own."""

from __future__ import annotations

from pacbound.experiments.bandit.problems.loading import (
    fetch_files,
    load_problem,
    problem_files,
    problem_names,
)

__all__ = ["fetch_files", "load_problem", "problem_files", "problem_names"]
