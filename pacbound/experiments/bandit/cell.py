"""A cell of the table: one run of an agent on a problem with one seed."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pacbound.errors import PacboundError, ResultError
from pacbound.experiments.bandit import result
from pacbound.experiments.bandit.problems import fetch_files, load_problem, problem_names
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.tables.cell import Measured, Progress, Report, Verdict
from pacbound.experiments.tables.trained import modified
from pacbound.files import file_digest, write_whole

if TYPE_CHECKING:
    from pacbound.data.sources import Progress as FetchProgress
    from pacbound.experiments.bandit.play import Progress as PlayProgress
    from pacbound.experiments.bandit.problem import Problem

__all__ = ["PLAYING", "REACHED", "STATE", "BanditCell"]

PLAYING = "playing"
STATE = "state.npz"  # the state of an unfinished run
REACHED = "reached.json"  # the progress of that state


@dataclass(frozen=True)
class BanditCell:
    """One problem, agent and seed. The problem and the agent share the seed.

    The stream of a problem depends only on the seed, so agents with one seed play the same one.
    """

    problem: str  # a name, or the path of an .npz file
    agent: str
    seed: int
    settings: AgentSettings
    steps: int | None = None  # None: the whole stream

    scratch: ClassVar[tuple[str, ...]] = (STATE, REACHED)

    @property
    def label(self) -> str:
        """The problem's name, or that of the file."""
        named = self.problem in problem_names()
        return self.problem if named else Path(self.problem).expanduser().stem

    @property
    def name(self) -> str:
        """The name of the folder and of the published result."""
        return f"{self.label}-{self.agent}-{self.seed}"

    @property
    def kind(self) -> str:
        """Cells that differ only in the seed take the same time."""
        return f"{self.label} {self.agent}"

    @cached_property
    def digest(self) -> str:
        """The digest of everything that determines the run; for a user's file, of its content.

        Settings at their defaults are omitted, so runs made before a setting existed stay the
        same.
        """
        parts = {
            "problem": self.label,
            "content": None if self.problem in problem_names() else _content(self.problem),
            "agent": self.agent,
            "seed": self.seed,
            "steps": self.steps,
            "settings": self.settings.changes(),
        }
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def data(self) -> str:
        """The problem."""
        return self.problem

    def inherits(self, other: Any) -> Collection[str]:
        """Every cell is on its own."""
        return ()

    def fetch(self, progress: FetchProgress) -> None:
        """Fetch the files of a problem. If they may have errors, prepare the problem too."""
        if self.problem in problem_names() and self.steps is None:
            fetch_files(self.problem, progress)
        else:
            load_problem(self.problem, self.seed, steps=self.steps, progress=progress)

    def work(self) -> Mapping[str, float]:
        """The run as one unit of work."""
        return {PLAYING: 1.0}

    # In the child process -------------------------------------------------------------------

    def run(self, folder: Path, threads: int, report: Report) -> None:
        """Play from the saved state to the horizon, and write the result."""
        from pacbound.experiments.bandit.play import UnreadableState

        problem = load_problem(self.problem, self.seed, steps=self.steps)
        if not (folder / STATE).exists():
            (folder / REACHED).unlink(missing_ok=True)
        try:
            self._play(problem, folder, report)
        except UnreadableState:  # start again
            for name in self.scratch:
                (folder / name).unlink(missing_ok=True)
            self._play(problem, folder, report)
        for name in self.scratch:
            (folder / name).unlink(missing_ok=True)

    def _play(self, problem: Problem, folder: Path, report: Report) -> None:
        from pacbound.experiments.bandit.play import play

        clock = _Reached(folder)

        def on_progress(progress: PlayProgress) -> None:
            clock.note(progress)
            report(Progress(PLAYING, progress.step / progress.steps, _text(progress)))

        state = folder / STATE
        run = play(problem, self.agent, self.settings, self.seed, on_progress, state, resume=True)
        clock.write()
        result.write(folder, problem, run, clock.seconds)

    def probe(self, threads: int) -> Mapping[str, float]:
        """The duration of the run in seconds, from a few trainings."""
        from pacbound.experiments.bandit.trial import playing

        return {PLAYING: playing(self)}

    # From the files -------------------------------------------------------------------------

    def finished(self, folder: Path) -> Verdict:
        """The result must be complete, of this run, and consistent with the pulled arms."""
        verdict = self.published(folder)
        if not verdict.finished:
            return verdict
        try:
            result.check(folder, self.record(folder))
        except PacboundError as error:
            return Verdict(False, str(error))
        return Verdict(True)

    def published(self, folder: Path) -> Verdict:
        """The result must be complete and of this run. The file of every step is not published."""
        if not (folder / result.RESULT).exists():
            return Verdict(False)
        try:
            record = self.record(folder)
            for name in ("agent", "seed"):
                if record[name] != getattr(self, name):
                    raise ResultError(f"its result is of another {name}")
            if record["problem"] != self.label or self.steps not in (None, record["steps"]):
                raise ResultError("its result is of another problem")
            if AgentSettings.from_mapping(record["settings"]) != self.settings:
                raise ResultError("its result is of other settings")
        except PacboundError as error:
            return Verdict(False, str(error))
        return Verdict(True)

    def record(self, folder: Path) -> dict[str, Any]:
        """The stored result; PacboundError if something is missing."""
        return result.read(folder)

    def progress(self, folder: Path) -> Progress | None:
        """The progress according to the note beside the state."""
        reached = _reached(folder)
        if reached is None or not (folder / STATE).exists():
            return None
        return Progress(PLAYING, reached["step"] / reached["steps"], reached["text"])

    def measured(self, folder: Path) -> list[Measured]:
        """The duration of the run, or its duration so far."""
        path = folder / result.RESULT
        if path.exists():
            try:
                return [Measured(PLAYING, 1.0, self.record(folder)["seconds"], modified(path))]
            except PacboundError:
                return []
        reached = _reached(folder)
        if reached is None:
            return []
        part = reached["step"] / reached["steps"]
        return [Measured(PLAYING, part, reached["seconds"], modified(folder / REACHED))]


class _Reached:
    """Records the progress of a run beside its state, and its total time over all resumptions."""

    def __init__(self, folder: Path) -> None:
        self._state, self._path = folder / STATE, folder / REACHED
        before = _reached(folder)
        self._start = time.monotonic() - (before["seconds"] if before else 0.0)
        self._saved = modified(self._state)
        self._last: dict[str, Any] | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def note(self, progress: PlayProgress) -> None:
        """Receive the progress of the run; the state is saved after this."""
        saved = modified(self._state)
        if saved != self._saved:  # the state was saved since the last call
            self._saved = saved
            self.write()
        self._last = {
            "step": progress.step,
            "steps": progress.steps,
            "text": _text(progress),
            "seconds": self.seconds,
        }

    def write(self) -> None:
        """Write the last note."""
        if self._last is not None:
            text = json.dumps(self._last, ensure_ascii=False)
            write_whole(self._path, lambda stream: stream.write(text.encode()))


def _reached(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / REACHED).read_text(encoding="utf-8"))
        if not 0 < int(found["step"]) <= int(found["steps"]) or not float(found["seconds"]) >= 0:
            return None
        return {**found, "text": str(found["text"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _text(progress: PlayProgress) -> str:
    return f"step {progress.step}/{progress.steps}  regret {progress.normalized:.2f} %"


def _content(path: str) -> str:
    """The digest of a user's file; the error of `load_problem` if it does not exist."""
    try:
        return file_digest(Path(path).expanduser())
    except OSError:
        load_problem(path)
        raise
