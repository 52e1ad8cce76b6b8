"""Evaluation of agents on a log: train on its first part, evaluate on the rest; or replay it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import DataError, SettingError, unknown_name
from pacbound.experiments.bandit.agents import Agent, make_agent
from pacbound.experiments.bandit.logged.estimates import (
    Estimate,
    Weighted,
    improvement_of,
    of_replay,
    refuse_disjoint,
    value_of,
)
from pacbound.experiments.bandit.logged.limits import MOST
from pacbound.experiments.bandit.logged.log import Log
from pacbound.experiments.bandit.logged.propensities import (
    refuse_wrong_propensities,
    smallest_propensity,
)
from pacbound.experiments.bandit.play import PULLS
from pacbound.experiments.bandit.problems.preparation import z_scores
from pacbound.experiments.bandit.regression import BayesianRegression
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.bandit.stream import Stream
from pacbound.seeds import derive

__all__ = ["ESTIMATORS", "Plan", "evaluate"]

IPS, DR, REPLAY = "ips", "dr", "replay"
ESTIMATORS = (DR, IPS, REPLAY)
CHOICES = 1000  # computed at a time
SCALING = 10  # one in so many rows, the first ones, scales the contexts of a replay
FURTHEST = 10.0  # from the mean of a column, in deviations


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
        if not self.low < self.high or not math.isfinite(self.high - self.low):
            raise SettingError(f"rewards cannot be from {self.low} to {self.high}")
        if self.min_propensity is not None and not 0 < self.min_propensity <= 1:
            raise SettingError(f"a propensity cannot be {self.min_propensity}")


def evaluate(log: Log, agents: Mapping[str, AgentSettings], plan: Plan) -> dict[str, Any]:
    """The value of every agent, as a record for JSON.

    All limits of a record hold together with probability 1 − δ: it is divided equally among them.
    """
    least = smallest_propensity(log, plan.min_propensity)
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
    refuse_wrong_propensities(log, least)
    for name, settings in agents.items():  # before the first of them is trained
        make_agent(name, log.contexts.shape[1], log.arms, settings, plan.seed)
    intervals = len(agents) * sum(1 if name == REPLAY else 2 for name in chosen)
    judge = _Judge(log, plan, least, plan.delta / intervals)
    return {
        "log": log.name,
        "log_sha256": log.sha256,
        "rows": len(log),
        "train_rows": judge.first,
        "rows_without_choice": int((log.propensities == 1).sum()),
        "arms": list(log.names),
        "delta": plan.delta,
        "rewards": [plan.low, plan.high],
        "min_propensity": least,
        "draws": plan.draws,
        "seed": plan.seed,
        "logging_policy": float(log.rewards[judge.first :].mean()),
        "agents": [
            {
                "agent": name,
                "settings": settings.to_mapping(),
                "estimates": judge.estimates(name, settings, chosen),
            }
            for name, settings in agents.items()
        ],
    }


class _Judge:
    """Evaluates one agent after the other on the same log.

    The columns of contexts are z-scores, by the rows of the first part for an agent that learns
    from these, and by fewer rows for replay, which begins after them.
    """

    def __init__(self, log: Log, plan: Plan, least: float | None, delta: float) -> None:
        self.plan, self.least, self.delta = plan, least, delta
        self.first = int(plan.train_share * len(log))
        if not 0 < self.first < len(log):
            raise DataError(f"{log.name} has {len(log)} rows: too few to train and to evaluate on")
        self.opening = max(1, min(self.first, len(log) // SCALING))  # the rows before replay
        self.log = _scaled(log, self.first)
        self.replayed = _scaled(log, self.opening).part(slice(self.opening, None))

    def estimates(
        self, name: str, settings: AgentSettings, chosen: list[str]
    ) -> dict[str, dict[str, Any]]:
        """The estimates of one agent, by estimator."""
        size, arms = self.log.contexts.shape[1], self.log.arms
        found: dict[str, dict[str, Any]] = {}
        if DR in chosen or IPS in chosen:
            agent = make_agent(name, size, arms, settings, self.plan.seed)
            _learn(agent, self.log.part(slice(self.first)))
            rest = self._in_shares(self.log.part(slice(self.first, None)))
            policy = self._policy(agent, rest.contexts)
            weighted = {
                kind: self._weighted(policy, rest, kind == DR) for kind in chosen if kind != REPLAY
            }
            values = {kind: value_of(rows, self.delta) for kind, rows in weighted.items()}
            refuse_disjoint(values.values())
            for kind, rows in weighted.items():
                improvement = improvement_of(rows, self.delta)
                found[kind] = {
                    "rows": len(rest),
                    "value": self._in_units(values[kind], self.plan.low),
                    "improvement": self._in_units(improvement, 0.0),
                }
        if REPLAY in chosen:
            assert self.least is not None
            agent = make_agent(name, size, arms, settings, self.plan.seed)
            accepted = _replay(agent, self.replayed, self.least, self.plan.seed)
            value = of_replay(self._in_shares(self.replayed).rewards[accepted], self.delta)
            found[REPLAY] = {"rows": len(accepted), "value": self._in_units(value, self.plan.low)}
        return found

    def _weighted(self, policy: NDArray[np.float64], rest: Log, modelled: bool) -> Weighted:
        weighted = Weighted(policy, rest.actions, rest.rewards, rest.propensities)
        if not modelled:
            return weighted
        assert self.least is not None
        model, floor = self._model(rest.contexts), self._floor(len(rest), self.least)
        return replace(weighted, model=model, floor=floor, least=self.least)

    def _floor(self, rows: int, least: float) -> float:
        """How far terms may be below 0: weights of 1/least, or less so that bets are not small.

        A bet of √(2 ln(1/δ)/n), the best for terms of deviation 1, is then still allowed.
        """
        return min(1 / least, MOST * math.sqrt(rows / (2 * math.log(2 / self.delta))))

    def _policy(self, agent: Agent, contexts: NDArray[Any]) -> NDArray[np.float64]:
        """How often each arm is drawn: an unbiased estimate of its probability."""
        counts = np.zeros((len(contexts), agent.arms))
        at_once = max(1, CHOICES // self.plan.draws)
        for start in range(0, len(contexts), at_once):
            part = contexts[start : start + at_once]
            arms = agent.choose(np.repeat(part, self.plan.draws, axis=0))
            rows = start + np.repeat(np.arange(len(part)), self.plan.draws)
            np.add.at(counts, (rows, arms), 1 / self.plan.draws)
        return counts

    def _model(self, contexts: NDArray[Any]) -> NDArray[np.float64]:
        """Linear regressions of the rewards of the first part, clipped to [0, 1]."""
        seen = self._in_shares(self.log.part(slice(self.first)))
        regression = BayesianRegression(contexts.shape[1] + 1, self.log.arms, AgentSettings())
        regression.fit(_with_one(seen.contexts), seen.actions, seen.rewards)
        predicted: NDArray[np.float64] = _with_one(contexts) @ regression.mean.T
        return np.clip(predicted, 0, 1)

    def _in_shares(self, log: Log) -> Log:
        """Rewards as shares of their range."""
        low, high = self.plan.low, self.plan.high
        return replace(log, rewards=(log.rewards - low) / (high - low))

    def _in_units(self, scaled: Estimate, start: float) -> dict[str, float | None]:
        width = self.plan.high - self.plan.low
        found = {name: getattr(scaled, name) for name in ("estimate", "lower", "upper")}
        return {k: None if v is None else start + width * v for k, v in found.items()}


def _scaled(log: Log, rows: int) -> Log:
    """The columns of contexts as z-scores by the first rows.

    A column can be constant there and vary later, so no value is further away than FURTHEST.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        contexts = np.clip(z_scores(log.contexts, rows), -FURTHEST, FURTHEST)
    if not np.isfinite(contexts).all():
        column = int(np.flatnonzero(~np.isfinite(contexts).all(0))[0]) + 1
        raise DataError(f"{log.name}: column {column} of the context has too large numbers")
    return replace(log, contexts=contexts)


def _learn(agent: Agent, log: Log) -> None:
    """Learn from the rows of another policy, in the order of the log."""
    every = agent.settings.train_every
    rewards = log.rewards.astype(np.float32)
    for start in range(0, len(log), every):
        rows = slice(start, start + every)
        agent.observe_logged(
            log.contexts[rows], log.actions[rows], rewards[rows], log.propensities[rows]
        )
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
        due = len(accepted) // agent.settings.train_every
        opened = first and len(accepted) == opening and agent.settings.initial_training
        if due > trained or (opened and len(hits)):
            trained = due
            agent.train()
        start = int(rows[-1]) + 1
    return np.array(accepted, np.int64)


def _with_one(contexts: NDArray[Any]) -> NDArray[np.float64]:
    return np.hstack([contexts, np.ones((len(contexts), 1))])
