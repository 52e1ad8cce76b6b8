"""Agents' hyper-parameters: what the YAML says for whom, and what overrides it."""

from __future__ import annotations

import pytest

from pacbound.errors import PacboundError
from pacbound.experiments.bandit import recipes
from pacbound.experiments.bandit.agents import AGENTS
from pacbound.experiments.bandit.problems import problem_names
from pacbound.experiments.bandit.recipes import PROTOCOLS, agent_settings
from pacbound.experiments.bandit.settings import AgentSettings


def test_every_entry_is_of_a_known_problem_agent_and_setting() -> None:
    found = recipes._protocols()
    assert tuple(found) == PROTOCOLS
    for protocol, values in found.items():
        assert set(values) == {"every", "agents", "own", "problems"}
        assert set(values["agents"]) <= set(AGENTS)
        assert set(values["problems"]) <= set(problem_names())
        for there in (values["own"], *values["problems"].values()):
            assert set(there) <= {"every", *AGENTS}
        for problem in problem_names():
            for agent in AGENTS:
                agent_settings(agent, problem, protocol)


def test_the_published_protocol_is_kept() -> None:
    for problem in problem_names():
        for agent in AGENTS:
            tuned = agent_settings(agent, problem)
            assert (tuned.train_every, tuned.hidden, tuned.batch) == (50, 50, 512)
            untuned = agent_settings(agent, problem, "untuned")
            assert (untuned.learning_rate, untuned.minibatches) == (1e-4, 100)
            assert untuned == agent_settings(agent, "statlog", "untuned")  # the same for all


def test_agents_without_tuning_differ_only_in_what_is_their_own() -> None:
    common = agent_settings("diag", "statlog", "untuned")
    assert common == AgentSettings(
        learning_rate=1e-4,
        minibatches=100,
        standardize=True,
        context_length=14.0,
        initial_gain=0.3,
        noise=0.3,
        learn_noise=True,
        beta=0.05,
        prior_variance=(2.0,),
        prior_by_width=True,
        initial_scale=(0.0067,),
        reset_optimizer=True,
        floor=1.0,
    )
    for agent in AGENTS:
        assert agent == "fbnn" or agent_settings(agent, "adult", "untuned") == common


def test_one_way_to_scale_contexts_replaces_the_other() -> None:
    divided = agent_settings("diag", "adult", "untuned", {"context_scale": 2.0})
    assert (divided.context_scale, divided.context_length) == (2.0, 0.0)
    long = agent_settings("diag", "jester", "tuned", {"context_length": 14.0})
    assert (long.context_scale, long.context_length) == (1.0, 14.0)
    off = agent_settings("diag", "jester", "tuned", {"context_length": 0.0})
    assert off == agent_settings("diag", "jester", "tuned")
    with pytest.raises(PacboundError, match="exclude each other"):
        agent_settings("diag", "adult", "untuned", {"context_scale": 2.0, "context_length": 3.0})


def test_the_nearest_says_most(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "every": {"noise": 1.0, "beta": 1.0, "ridge": 1.0, "share": 0.1},
        "agents": {"diag": {"noise": 2.0, "beta": 2.0, "ridge": 2.0}},
        "own": {"every": {"share": 0.2}, "linear": {"beta": 0.5}},
        "problems": {"adult": {"every": {"noise": 3.0, "beta": 3.0}, "diag": {"noise": 4.0}}},
    }
    monkeypatch.setattr(recipes, "_protocols", lambda: {"tuned": values})

    def found(agent: str, problem: str, **overrides: object) -> tuple[float, ...]:
        made = agent_settings(agent, problem, "tuned", overrides)
        return made.noise, made.beta, made.ridge, made.share

    assert found("diag", "adult") == (4, 3, 2, 0.1)
    assert found("greedy", "adult") == (3, 3, 1, 0.1)
    assert found("diag", "statlog") == (2, 2, 2, 0.1)
    assert found("diag", "mine.npz") == (2, 2, 2, 0.2)
    assert found("linear", "mine.npz") == (1, 0.5, 1, 0.2)
    assert found("diag", "adult", noise=5, share=1) == (5, 3, 2, 1)


@pytest.mark.parametrize(
    ("agent", "protocol", "overrides", "says"),
    [
        ("k-liner", "tuned", {}, "did you mean 'k-linear'"),
        ("diag", "tuend", {}, "did you mean 'tuned'"),
        ("diag", "tuned", {"nois": 1}, "did you mean 'noise'"),
        ("diag", "tuned", {"noise": -1}, "noise must be"),
        ("diag", "tuned", {"agent": "linear"}, "choose it with --agent"),
        ("diag", "tuned", {"seed": 3}, "choose it with --seeds"),
        ("diag", "tuned", {"steps": 3}, "choose it with --steps"),
    ],
)
def test_what_is_refused(
    agent: str, protocol: str, overrides: dict[str, object], says: str
) -> None:
    with pytest.raises(PacboundError, match=says):
        agent_settings(agent, "statlog", protocol, overrides)
