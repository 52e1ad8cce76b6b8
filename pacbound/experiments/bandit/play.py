"""The play loop: an agent on a problem, from the round robin to the horizon."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.npz import read_all_arrays
from pacbound.errors import FileError, PacboundError, SettingError, unknown_name
from pacbound.experiments.bandit.agents import AGENTS, Agent, make_agent
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.run import Run, best_fixed_arm
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.bandit.stream import State, prefixed, under
from pacbound.files import ensure_writable, write_whole

__all__ = ["FIXED", "PULLS", "Progress", "UnreadableState", "play"]

PULLS = 2  # of every arm, before the agent chooses
FIXED = "fixed"  # the best fixed arm in hindsight: computed, not played
FORMAT = "pacbound-bandit-run/2"
SAVE_EVERY = 1.0  # seconds, if saving is quick
SAVING = 0.02  # the largest share of the time spent on saving


class UnreadableState(PacboundError):
    """The file of a run's state is damaged, or is another kind of file."""


@dataclass(frozen=True)
class Progress:
    """The progress of a run."""

    step: int
    steps: int
    normalized: float  # regret in per cent of the uniform policy's over the same steps


def play(
    problem: Problem,
    agent: str,
    settings: AgentSettings,
    seed: int,
    on_progress: Callable[[Progress], object] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    save_every: float = SAVE_EVERY,
) -> Run:
    """Let an agent play a whole problem.

    Every arm is pulled twice in turn. Then the agent chooses, and is trained after every
    `train_every` contexts. The result is a function of the problem, the agent's name, the settings
    and the seed: a run that was killed and resumed ends with the same result.

    Arguments:
        problem: The stream.
        agent: A name in AGENTS, or "fixed" for the best fixed arm in hindsight.
        settings: The agent's hyper-parameters.
        seed: The seed of the agent.
        on_progress: Called after every training.
        checkpoint: The file for the state; None for none.
        resume: Continue from the checkpoint, if there is one.
        save_every: Seconds between checkpoints; more if saving takes long.
    """
    if agent == FIXED:
        arms = np.full(problem.steps, best_fixed_arm(problem))
        return Run.of(problem, agent, settings, seed, arms)
    if agent not in AGENTS:
        raise unknown_name("agent", agent, [*AGENTS, FIXED])
    if seed < 0:
        raise SettingError(f"the seed of a run must be 0 or more, not {seed}")
    game = _Game(
        problem, make_agent(agent, problem.contexts.shape[1], problem.arms, settings, seed)
    )
    identity = {
        "format": FORMAT,
        "problem": problem.name,
        "sha256": _digest(problem),
        "agent": agent,
        "settings": settings.changes(),
        "seed": seed,
    }
    if checkpoint is not None:
        ensure_writable(checkpoint)
        if resume and checkpoint.exists():
            state = _load(checkpoint, identity)
            try:
                game.restore(state)
            except Exception as error:  # an incomplete archive may still have valid checksums
                raise _unreadable(checkpoint) from error
    saved, pause = time.monotonic(), save_every
    while game.step < problem.steps:
        game.advance()
        if on_progress is not None:
            on_progress(game.progress())
        if checkpoint is not None and (
            game.step == problem.steps or time.monotonic() - saved >= pause
        ):
            begun = time.monotonic()
            _save(checkpoint, identity, game.state())
            saved = time.monotonic()
            pause = max(save_every, (saved - begun) / SAVING) if save_every else 0.0
    return Run.of(problem, agent, settings, seed, game.arms)


class _Game:
    """An agent in the middle of a problem."""

    def __init__(self, problem: Problem, agent: Agent) -> None:
        self.problem = problem
        self.agent = agent
        self.every = agent.settings.train_every
        self.opening = min(PULLS * problem.arms, problem.steps)  # steps of the round robin
        self.step = 0
        self.arms = np.zeros(problem.steps, np.int64)
        self._regret = np.zeros(problem.steps)
        self._uniform = np.cumsum(problem.optimal - problem.rewards.mean(1, dtype=np.float64))

    def advance(self) -> None:
        """Play up to the next training, and train."""
        stop = min(self.every * (self.step // self.every + 1), self.problem.steps)
        if self.step < self.opening:
            self._round_robin(min(stop, self.opening))
        while self.step < stop:
            rows = slice(self.step, min(self.step + self.agent.block, stop))
            self._pull(rows, self.agent.choose(self.problem.contexts[rows]))
        # Training at the horizon would be useless.
        if self.step % self.every == 0 and self.step < self.problem.steps:
            self.agent.train()

    def _round_robin(self, stop: int) -> None:
        steps = np.arange(self.step, stop)
        self._pull(slice(self.step, stop), steps % self.problem.arms)
        if self.agent.settings.initial_training and self.step == self.opening:
            self.agent.train()

    def _pull(self, rows: slice, arms: NDArray[np.int64]) -> None:
        contexts = self.problem.contexts[rows]
        rewards = self.problem.rewards[np.arange(rows.start, rows.stop), arms]
        self.arms[rows] = arms
        self._regret[rows] = self.problem.optimal[rows] - rewards
        self.agent.observe(contexts, arms, rewards)
        self.step = rows.stop

    def progress(self) -> Progress:
        uniform = float(self._uniform[self.step - 1])
        regret = float(self._regret[: self.step].sum())
        return Progress(self.step, self.problem.steps, 100 * regret / uniform if uniform else 0.0)

    def state(self) -> State:
        return {"arms": self.arms[: self.step], **prefixed("agent", self.agent.state())}

    def restore(self, state: State) -> None:
        arms, own = state["arms"], under("agent", state)
        if arms.dtype != np.int64 or arms.ndim != 1 or len(arms) > self.problem.steps:
            raise ValueError("its arms are not a sequence of numbers")
        if not ((arms >= 0) & (arms < self.problem.arms)).all():
            raise ValueError("it pulled an arm that does not exist")
        self.step = len(arms)
        self.arms[: self.step] = arms
        rewards = self.problem.rewards[np.arange(self.step), arms]
        self._regret[: self.step] = self.problem.optimal[: self.step] - rewards
        self.agent.remember(self.problem.contexts[: self.step], arms, rewards)
        _refuse_unfit(own, self.agent.state())
        self.agent.restore(own)


def _refuse_unfit(state: State, like: State) -> None:
    """ValueError for arrays that do not fit the agent: numpy would broadcast them silently."""
    kinds = [{k: (v.dtype, v.shape) for k, v in arrays.items()} for arrays in (state, like)]
    if kinds[0] != kinds[1]:
        raise ValueError("its arrays are not those of the agent")
    if not all(np.isfinite(array).all() for array in state.values()):
        raise ValueError("it has NaN or infinite entries")


def _digest(problem: Problem) -> str:
    digest = hashlib.sha256()
    for array in (problem.contexts, problem.rewards, problem.optimal):
        digest.update(f"{array.dtype.str} {list(array.shape)}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _save(path: Path, identity: dict[str, Any], state: State) -> None:
    text = np.array(json.dumps(identity, sort_keys=True))
    arrays: dict[str, Any] = {"identity": text, **state}
    write_whole(path, lambda stream: np.savez(stream, **arrays))


def _unreadable(path: Path) -> UnreadableState:
    return UnreadableState(f"{path} is not the state of a bandit run")


def _load(path: Path, identity: dict[str, Any]) -> State:
    """The state of the same run. The state of another run is refused, with what differs."""
    try:
        state: State = read_all_arrays(path)
        found = json.loads(str(state.pop("identity")))
        if found["format"] != FORMAT:
            raise ValueError
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a damaged archive can make the reader raise anything
        raise _unreadable(path) from error
    for name, value in identity.items():
        if found.get(name) != value:
            raise SettingError(
                f"{path} belongs to another run: its {name} differs; remove it, or do not resume"
            )
    return state
