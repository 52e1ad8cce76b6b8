"""The agents' hyper-parameters by protocol, problem and agent: one YAML file for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from pacbound.errors import SettingError, unknown_name
from pacbound.experiments.bandit.agents import AGENTS
from pacbound.experiments.bandit.problems import problem_names
from pacbound.experiments.bandit.settings import AgentSettings

__all__ = ["PROTOCOLS", "TUNED", "UNTUNED", "agent_settings", "settings_of_all"]

TUNED, UNTUNED = "tuned", "untuned"
PROTOCOLS = (TUNED, UNTUNED)
EVERY = "every"  # agent
OWN = "own"  # problem
CONTEXT_SCALES = ("context_scale", "context_length")
CHOSEN = {  # runs differ in these, so they are selected, not set
    "problem": "the argument of bandit, or --problem of table",
    "agent": "--agent",
    "seed": "--seeds and --first-seed, or --seed of off-policy",
    "seeds": "--seeds",
    "steps": "--steps",
    "protocol": "--protocol, or the table",
}


def agent_settings(
    agent: str,
    problem: str,
    protocol: str = TUNED,
    overrides: Mapping[str, Any] | None = None,
) -> AgentSettings:
    """The settings of an agent for a problem.

    An unnamed problem, a user's file, gets settings for rewards of any size.

    Example:
        >>> agent_settings("diag", "statlog", "untuned").learning_rate
        0.0001
    """
    if agent not in AGENTS:
        raise unknown_name("agent", agent, AGENTS)
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    given = dict(overrides or {})
    for name, option in CHOSEN.items():
        if name in given:
            raise SettingError(f"{name} is not a setting of an agent; choose it with {option}")
    # One of the two ways to scale contexts takes the place of the other.
    for one, other in (CONTEXT_SCALES, CONTEXT_SCALES[::-1]):
        if given.get(one, unused := getattr(AgentSettings, one)) != unused:
            given.setdefault(other, getattr(AgentSettings, other))
    values = _protocols()[protocol]
    named = problem in problem_names()
    there = values["problems"].get(problem, {}) if named else values[OWN]
    return AgentSettings.from_mapping(
        {
            **values[EVERY],
            **values["agents"].get(agent, {}),
            **there.get(EVERY, {}),
            **there.get(agent, {}),
            **given,
        }
    )


def settings_of_all(
    agents: Iterable[str],
    problem: str,
    protocol: str = TUNED,
    overrides: Mapping[str, Any] | None = None,
) -> dict[str, AgentSettings]:
    """The settings of several agents. Each is given what it reads; what none reads is refused."""
    given = dict(overrides or {})
    found = {}
    for agent in agents:
        agent_settings(agent, problem, protocol, given)  # refuses unknown names and bad values
        read = {name: value for name, value in given.items() if name in AGENTS[agent].reads}
        found[agent] = agent_settings(agent, problem, protocol, read)
    for name in given:
        if not any(name in AGENTS[agent].reads for agent in found):
            readers = [agent for agent, kind in AGENTS.items() if name in kind.reads]
            raise SettingError(
                f"the setting {name} means nothing to {', '.join(found)}; it is for "
                f"{', '.join(readers)}"
            )
    return found


@cache
def _protocols() -> dict[str, Any]:
    text = (files("pacbound.experiments.bandit.recipes") / "agents.yaml").read_text(
        encoding="utf-8"
    )
    found: dict[str, Any] = yaml.safe_load(text)
    return found
