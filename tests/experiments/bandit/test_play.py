"""The play loop: what agents reach, and that a run is a function of its inputs."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from pacbound.errors import PacboundError
from pacbound.experiments.bandit.agents import AGENTS, AgentSettings
from pacbound.experiments.bandit.play import Progress, play
from pacbound.experiments.bandit.problem import Problem

NO_VW = pytest.mark.skipif(find_spec("vowpalwabbit") is None, reason="needs vowpalwabbit")
INSTALLED = [pytest.param(name, marks=NO_VW) if name == "vw" else name for name in AGENTS]
LEARNERS = [name for name in INSTALLED if name != "uniform"]
QUICK = AgentSettings(
    hidden=20, minibatches=40, batch=64, learning_rate=0.01, noise=0.3, flow_hidden=(8,)
)


def made(steps: int = 600, arms: int = 3, size: int = 4) -> Problem:
    """The arm whose centre is nearest to the context pays 1, the others nothing."""
    generator = np.random.default_rng(0)
    contexts = generator.standard_normal((steps, size)).astype(np.float32)
    centers = generator.standard_normal((arms, size))
    best = (contexts @ centers.T).argmax(1)
    rewards = np.eye(arms, dtype=np.float32)[best]
    return Problem("made", contexts, rewards, np.ones(steps))


class Killed(Exception):
    """In the place of a signal."""


@pytest.mark.parametrize("agent", LEARNERS)
def test_learning_agents_beat_the_uniform_one(agent: str) -> None:
    run = play(made(), agent, QUICK, seed=0)
    assert run.normalized[-1] < 55


def test_the_uniform_agent_is_the_unit() -> None:
    runs = [play(made(2000), "uniform", QUICK, seed) for seed in range(5)]
    assert abs(np.mean([run.normalized[-1] for run in runs]) - 100) < 4


def test_the_best_fixed_arm_is_computed() -> None:
    problem = made()
    run = play(problem, "fixed", QUICK, seed=0)
    assert len(set(run.arms)) == 1
    assert run.rewards.sum() == problem.rewards.sum(0).max()


def test_every_arm_is_pulled_twice_in_turn_and_regret_adds_up() -> None:
    problem = made(230, arms=4)
    run = play(problem, "uniform", QUICK, seed=3)
    np.testing.assert_array_equal(run.arms[:8], [0, 1, 2, 3] * 2)
    lost = problem.optimal - problem.rewards[np.arange(230), run.arms]
    assert run.regret[-1] == pytest.approx(lost.sum())
    assert run.normalized[-1] == pytest.approx(problem.normalized(float(lost.sum())))


@pytest.mark.parametrize("steps", [3, 50, 51, 120])
def test_any_horizon_is_played_to_its_end(steps: int) -> None:
    seen: list[Progress] = []
    run = play(made(steps), "greedy", QUICK, seed=0, on_progress=seen.append)
    assert len(run.arms) == seen[-1].step == steps
    assert seen[-1].normalized == pytest.approx(run.normalized[-1])


@pytest.mark.parametrize("agent", ["linear", "diag", "k-nonlinear"])
def test_the_seed_determines_the_run(agent: str) -> None:
    problem, settings = made(220), replace(QUICK, minibatches=5)
    first, same, other = (play(problem, agent, settings, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.arms, same.arms)
    assert (first.arms != other.arms).any()


def test_an_initial_training_comes_after_the_round_robin() -> None:
    problem = made(60)
    plain, early = (
        play(problem, "greedy", replace(QUICK, initial_training=flag), 0) for flag in (False, True)
    )
    assert (plain.arms[6:50] != early.arms[6:50]).any()
    np.testing.assert_array_equal(plain.arms[:6], early.arms[:6])


@pytest.mark.parametrize("agent", INSTALLED)
def test_a_killed_run_resumes_to_the_same_end(agent: str, tmp_path: Path) -> None:
    problem, settings = made(330), replace(QUICK, minibatches=4, batch=16)
    whole = play(problem, agent, settings, seed=1)
    path = tmp_path / "run.npz"

    def kill(progress: Progress) -> None:
        if progress.step >= 200:
            raise Killed

    with pytest.raises(Killed):
        play(problem, agent, settings, 1, on_progress=kill, checkpoint=path, save_every=0)
    steps: list[int] = []
    resumed = play(
        problem,
        agent,
        settings,
        1,
        on_progress=lambda progress: steps.append(progress.step),
        checkpoint=path,
        resume=True,
    )
    assert steps[0] == 200  # the last state that was saved is that after 150
    np.testing.assert_array_equal(whole.arms, resumed.arms)
    np.testing.assert_array_equal(whole.regret, resumed.regret)
    again = play(problem, agent, settings, 1, on_progress=kill, checkpoint=path, resume=True)
    np.testing.assert_array_equal(whole.arms, again.arms)  # nothing was left to play


def test_the_state_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    play(made(60), "uniform", QUICK, 0, checkpoint=path)
    for problem, agent, settings, seed, different in [
        (made(61), "uniform", QUICK, 0, "sha256"),
        (made(60), "linear", QUICK, 0, "agent"),
        (made(60), "uniform", replace(QUICK, noise=1.0), 0, "settings"),
        (made(60), "uniform", QUICK, 1, "seed"),
    ]:
        with pytest.raises(PacboundError, match=f"its {different} differs"):
            play(problem, agent, settings, seed, checkpoint=path, resume=True)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 broken"])
def test_a_broken_state_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with pytest.raises(PacboundError, match="not the state of a bandit run"):
        play(made(60), "uniform", QUICK, 0, checkpoint=path, resume=True)


def test_an_unknown_agent_and_a_bad_seed_are_refused() -> None:
    with pytest.raises(PacboundError, match="did you mean 'fixed'"):
        play(made(60), "fixd", QUICK, 0)
    with pytest.raises(PacboundError, match="0 or more"):
        play(made(60), "uniform", QUICK, -1)
