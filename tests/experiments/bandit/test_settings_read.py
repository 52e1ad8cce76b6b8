"""Which settings an agent reads: those that change it, and no others."""

from __future__ import annotations

from dataclasses import fields
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from pacbound.errors import SettingError
from pacbound.experiments.bandit.agents import AGENTS, make_agent
from pacbound.experiments.bandit.recipes import settings_of_all
from pacbound.experiments.bandit.settings import LOOP, AgentSettings

SMALL = {
    "hidden": 4,
    "minibatches": 2,
    "batch": 8,
    "flow_hidden": [3],
    "measurement_points": 4,
    "function_draws": 6,
    "learn_noise": True,
    "standardize": True,
    "floor": 1.0,
}
ECHOES = ("noise", "standard", "contexts")  # of the state: settings that need not matter
OTHER: dict[str, Any] = {
    "minibatches": 3,
    "batch": 10,
    "learning_rate": 0.01,
    "decay": 0.5,
    "slowing": 0.5,
    "reset_optimizer": True,
    "hidden": 5,
    "initializer": "he-normal",
    "initial_gain": 0.5,
    "context_scale": 2.0,
    "context_length": 3.0,
    "reward_scale": 2.0,
    "standardize": False,
    "noise": 0.7,
    "learn_noise": False,
    "prior_variance": [0.5],
    "prior_by_width": True,
    "floor": 2.0,
    "beta": 0.5,
    "initial_scale": [0.1],
    "flow_hidden": [4],
    "flow_steps": 1,
    "weight_draws": 2,
    "kernel_variance": 2.0,
    "kernel_length": 2.0,
    "measurement_points": 3,
    "measurement_noise": 0.1,
    "function_draws": 8,
    "score": "spectral",
    "members": 2,
    "share": 0.5,
    "ridge": 1.0,
    "gamma_shape": 3.0,
    "gamma_rate": 3.0,
}


def behaviour(name: str, **changes: object) -> list[np.ndarray]:
    """What an agent is, and what it chooses, after it has learned twice."""
    settings = AgentSettings.from_mapping({**SMALL, **changes})
    generator = np.random.default_rng(0)
    contexts = generator.standard_normal((240, 3)).astype(np.float32)
    rewards = (contexts @ generator.standard_normal((3, 2))).astype(np.float32)
    agent = make_agent(name, 3, 2, settings, seed=0)
    for start in (0, 20):
        rows = np.arange(start, start + 20)
        agent.observe(contexts[rows], rows % 2, rewards[rows, rows % 2])
        agent.train()
    chosen = agent.choose(contexts[40:])
    agent.observe(contexts[40:], chosen, rewards[np.arange(40, 240), chosen])
    state = {key: value for key, value in agent.state().items() if not key.endswith(ECHOES)}
    return [chosen, *(np.asarray(value) for value in state.values())]


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_reads_what_it_says(name: str) -> None:
    if name == "vw" and find_spec("vowpalwabbit") is None:
        pytest.skip("needs vowpalwabbit")
    settings = {field.name for field in fields(AgentSettings)} - LOOP
    assert settings == set(OTHER)
    usual = behaviour(name)
    matters = {
        setting
        for setting, value in OTHER.items()
        if not all(map(np.array_equal, usual, behaviour(name, **{setting: value})))
    }
    assert matters == AGENTS[name].reads - LOOP


def test_a_setting_that_no_chosen_agent_reads_is_refused() -> None:
    with pytest.raises(SettingError, match="floor means nothing to greedy, linear; it is for diag"):
        settings_of_all(["greedy", "linear"], "statlog", overrides={"floor": 1.0})
    both = settings_of_all(["greedy", "diag"], "statlog", overrides={"floor": 3.0})
    assert both["diag"].floor == 3.0
    with pytest.raises(SettingError, match="did you mean"):
        settings_of_all(["greedy"], "statlog", overrides={"flor": 1.0})


def test_an_agent_is_given_only_what_it_reads() -> None:
    both = settings_of_all(["linear", "diag"], "statlog", overrides={"floor": 3.0})
    assert both["linear"] == settings_of_all(["linear"], "statlog")["linear"]
    # It learns from every observation at once.
    with pytest.raises(SettingError, match="train_every means nothing to vw"):
        settings_of_all(["vw"], "statlog", overrides={"train_every": 10})
