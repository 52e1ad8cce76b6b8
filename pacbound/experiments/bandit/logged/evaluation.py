"""Evaluation of agents on a log: train on its first part, evaluate on the rest; or replay it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import DataError, SettingError, unknown_name
from pacbound.experiments.bandit.agents import Agent, make_agent
from pacbound.experiments.bandit.logged.estimates import Estimate, Weighted, of_replay, of_terms
from pacbound.experiments.bandit.logged.log import Log
from pacbound.experiments.bandit.play import PULLS
from pacbound.experiments.bandit.regression import BayesianRegression
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.bandit.stream import Stream
from pacbound.seeds import derive

__all__ = ["ESTIMATORS", "Plan", "evaluate"]

IPS, DR, REPLAY = "ips", "dr", "replay"
ESTIMATORS = (DR, IPS, REPLAY)
ROWS = 1000  # whose policy is computed at a time


@dataclass(frozen=True)
class Plan:
    """How a log is evaluated."""

    train_share: float = 0.5  # of the rows, the first ones
    draws: int = 20  # of the agent's choice, for every row
    delta: float = 0.05  # for all limits together
    low: float = 0.0  # rewards are never below
    high: float = 1.0  # nor above
    min_propensity: float | None = None  # of every arm in every context
    estimators: tuple[str, ...] = ()  # all that can be used
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.estimators:
            if name not in ESTIMATORS:
                raise unknown_name("estimator", name, ESTIMATORS)
        for name in ("train_share", "delta"):
            if not 0 < getattr(self, name) < 1:
                raise SettingError(f"{name} must be between 0 and 1, not {getattr(self, name)}")
        if not np.isfinite([self.low, self.high]).all() or not self.low < self.high:
            raise SettingError(f"rewards cannot be from {self.low} to {self.high}")
        if self.min_propensity is not None and not 0 < self.min_propensity <= 1:
            raise SettingError(f"a propensity cannot be {self.min_propensity}")


def evaluate(log: Log, agents: Mapping[str, AgentSettings], plan: Plan) -> dict[str, Any]:
    """The value of every agent, as a record for JSON.

    All limits of a record hold together with probability 1 − δ: it is divided equally among them.
    """
    least = _least_propensity(log, plan)
    known = ESTIMATORS if least is not None else (IPS,)
    for name in plan.estimators:
        if name not in known:
            raise SettingError(
                f"{name} needs the smallest probability with which the logging policy chose any "
                "arm: give --min-propensity"
            )
    chosen = [name for name in known if not plan.estimators or name in plan.estimators]
    outside = np.flatnonzero((log.rewards < plan.low) | (log.rewards > plan.high))
    if len(outside):
        raise DataError(
            f"{log.name}, example {outside[0] + 1}: the reward {log.rewards[outside[0]]:g} is not "
            f"between {plan.low:g} and {plan.high:g}; give the range that rewards can have with "
            "--rewards"
        )
    scaled = replace(log, rewards=(log.rewards - plan.low) / (plan.high - plan.low))
    intervals = len(agents) * sum(1 if name == REPLAY else 2 for name in chosen)
    judge = _Judge(log, scaled, plan, least, plan.delta / intervals)
    return {
        "log": log.name,
        "rows": len(log),
        "train_rows": judge.first,
        "arms": list(log.names),
        "delta": plan.delta,
        "rewards": [plan.low, plan.high],
        "min_propensity": least,
        "logging_policy": float(log.rewards[judge.first :].mean()),
        "agents": [
            {"agent": name, "estimates": judge.estimates(name, settings, chosen)}
            for name, settings in agents.items()
        ],
    }


def _least_propensity(log: Log, plan: Plan) -> float | None:
    """The declared one, or that of a log with uniform choices; None if nobody knows."""
    found = float(log.propensities.min())
    if plan.min_propensity is not None:
        if found < plan.min_propensity:
            row = int(log.propensities.argmin()) + 1
            raise DataError(
                f"{log.name}, example {row}: the propensity {found:g} is below the smallest one of "
                f"--min-propensity, {plan.min_propensity:g}"
            )
        return plan.min_propensity
    uniform = 1 / log.arms
    return uniform if np.allclose(log.propensities, uniform, rtol=1e-6, atol=0) else None


class _Judge:
    """Evaluates one agent after the other on the same log."""

    def __init__(
        self, log: Log, scaled: Log, plan: Plan, least: float | None, delta: float
    ) -> None:
        self.log, self.scaled, self.plan, self.least, self.delta = log, scaled, plan, least, delta
        self.first = int(plan.train_share * len(log))
        if not 0 < self.first < len(log):
            raise DataError(f"{log.name} has {len(log)} rows: too few to train and to evaluate on")

    def estimates(
        self, name: str, settings: AgentSettings, chosen: list[str]
    ) -> dict[str, dict[str, Any]]:
        """The estimates of one agent, by estimator."""
        size, arms = self.log.contexts.shape[1], self.log.arms
        found: dict[str, dict[str, Any]] = {}
        if DR in chosen or IPS in chosen:
            agent = make_agent(name, size, arms, settings, self.plan.seed)
            _learn(agent, self.log.part(slice(self.first)))
            rest = self.scaled.part(slice(self.first, None))
            policy = self._policy(agent, rest.contexts)
            for kind in (kind for kind in chosen if kind != REPLAY):
                found[kind] = self._weighted(policy, rest, kind == DR)
        if REPLAY in chosen:
            assert self.least is not None
            agent = make_agent(name, size, arms, settings, self.plan.seed)
            accepted = _replay(agent, self.log, self.least, self.plan.seed)
            value = of_replay(self.scaled.rewards[accepted], self.delta)
            found[REPLAY] = {"rows": len(accepted), "value": self._in_units(value, self.plan.low)}
        return found

    def _weighted(self, policy: NDArray[np.float64], rest: Log, modelled: bool) -> dict[str, Any]:
        model = self._model(rest.contexts) if modelled else None
        weighted = Weighted(policy, model, rest.actions, rest.rewards, rest.propensities)
        floor = 1 / self.least if modelled and self.least is not None else 0.0
        value, gain = (
            of_terms(weighted, floor, self.delta, improvement) for improvement in (False, True)
        )
        return {
            "rows": len(rest),
            "value": self._in_units(value, self.plan.low),
            "improvement": self._in_units(gain, 0.0),
        }

    def _policy(self, agent: Agent, contexts: NDArray[np.float32]) -> NDArray[np.float64]:
        """How often each arm is drawn: an unbiased estimate of its probability."""
        counts = np.zeros((len(contexts), agent.arms))
        for start in range(0, len(contexts), ROWS):
            part = contexts[start : start + ROWS]
            arms = agent.choose(np.repeat(part, self.plan.draws, axis=0))
            rows = start + np.repeat(np.arange(len(part)), self.plan.draws)
            np.add.at(counts, (rows, arms), 1 / self.plan.draws)
        return counts

    def _model(self, contexts: NDArray[np.float32]) -> NDArray[np.float64]:
        """Linear regressions of the rewards of the first part, clipped to [0, 1]."""
        seen = self.scaled.part(slice(self.first))
        regression = BayesianRegression(contexts.shape[1] + 1, self.log.arms, AgentSettings())
        regression.fit(_with_one(seen.contexts), seen.actions, seen.rewards)
        predicted: NDArray[np.float64] = _with_one(contexts) @ regression.mean.T
        return np.clip(predicted, 0, 1)

    def _in_units(self, scaled: Estimate, start: float) -> dict[str, float]:
        width = self.plan.high - self.plan.low
        return {
            name: start + width * getattr(scaled, name) for name in ("estimate", "lower", "upper")
        }


def _learn(agent: Agent, log: Log) -> None:
    """Learn from the rows of another policy as if they were the agent's own."""
    every = agent.settings.train_every
    rewards = log.rewards.astype(np.float32)
    for start in range(0, len(log), every):
        rows = slice(start, start + every)
        agent.observe(log.contexts[rows], log.actions[rows], rewards[rows])
        agent.train()


def _replay(agent: Agent, log: Log, least: float, seed: int) -> NDArray[np.int64]:
    """The rows that a learning agent accepts: where it chooses what the log did.

    L. Li, W. Chu, J. Langford and X. Wang, "Unbiased offline evaluation of contextual-bandit-based
    news article recommendation algorithms" (2011). A row whose action had the propensity p is kept
    with probability least/p, so that every row is accepted with the same probability.
    """
    kept = Stream(derive("replay", seed)).generator.random(len(log)) * log.propensities < least
    rewards = log.rewards.astype(np.float32)
    opening, trained = PULLS * agent.arms, 0
    accepted: list[int] = []
    start = 0
    while start < len(log):
        first = len(accepted) < opening
        rows = np.arange(start, min(start + (1 if first else agent.block), len(log)))
        arms = np.array([len(accepted) % agent.arms]) if first else agent.choose(log.contexts[rows])
        hits = rows[(arms == log.actions[rows]) & kept[rows]]
        if len(hits):
            agent.observe(log.contexts[hits], log.actions[hits], rewards[hits])
            accepted += hits.tolist()
        if len(accepted) // agent.settings.train_every > trained:
            trained = len(accepted) // agent.settings.train_every
            agent.train()
        start = int(rows[-1]) + 1
    return np.array(accepted, np.int64)


def _with_one(contexts: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.hstack([contexts, np.ones((len(contexts), 1))])
