"""Off-policy evaluation: the value of an agent from the log of another policy."""

from __future__ import annotations

from pacbound.experiments.bandit.logged.evaluation import ESTIMATORS, Plan, evaluate
from pacbound.experiments.bandit.logged.log import Log, read_log

__all__ = ["ESTIMATORS", "Log", "Plan", "evaluate", "read_log"]
