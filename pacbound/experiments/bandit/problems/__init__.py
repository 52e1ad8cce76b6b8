"""The six bandit problems of Riquelme, Tucker and Snoek (2018), and a user's own."""

from __future__ import annotations

from pacbound.experiments.bandit.problems.loading import load_problem, problem_names

__all__ = ["load_problem", "problem_names"]
