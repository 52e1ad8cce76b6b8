"""Kill commands at random moments, resume them, and compare what they leave in the end.

    python tests/faults/killing.py 30
    python tests/faults/killing.py 30 train

kills training, certification, a table and a bandit run, or one of them, thirty times each. A moment
is drawn uniformly over the time that the shortest whole run took, its start included; every second
kill takes the command's own process alone, the others all processes that it has. A run that ends
before its moment is compared, and the next begins from nothing, until there were so many kills.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

__all__ = ["CASES", "Case", "Outcome", "command", "make_inputs", "survive"]

DATA, BANDIT, CHECKPOINT = "tiny.npz", "bandit.npz", "model.pt"
PATIENCE = 900.0  # seconds that no command here takes
ENDING = 120.0  # seconds that a child may need to notice that its parent is gone

Files = dict[str, Any]  # what is compared, by name


@dataclass(frozen=True)
class Case:
    """A command, run in a folder of its own, and what it leaves."""

    name: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...]  # files that are in the folder before
    read: Callable[[Path], Files]
    kept: str  # a pattern of what an unfinished run leaves to go on from
    checkpoint: str = ""  # with this in the folder, the command wants --resume

    def command(self, folder: Path) -> list[str]:
        """As a user would give it who sees what is in the folder."""
        resume = ["--resume"] if self.checkpoint and (folder / self.checkpoint).exists() else []
        return command(*self.arguments, *resume)


@dataclass
class Outcome:
    """How often a command was killed, and that it made no difference."""

    name: str
    kills: int = 0
    resumed: int = 0  # starts that found something to go on from
    finished: int = 0  # runs that came to their end, each compared
    undisturbed: float = 0.0  # seconds
    seconds: float = 0.0
    compared: list[str] = field(default_factory=list)

    def line(self) -> str:
        names = ", ".join(self.compared)
        return (
            f"{self.name:<9}  {self.kills:>5}  {self.resumed:>7}  {self.finished:>8}  "
            f"{self.undisturbed:>9.1f}  {self.seconds:>7.0f}  {names}"
        )


HEADER = "command    kills  resumed  finished  alone (s)  all (s)  compared"


def command(*arguments: object) -> list[str]:
    """`pacbound` with these arguments."""
    return [sys.executable, "-m", "pacbound_cli", *map(str, arguments)]


def environment() -> dict[str, str]:
    """This one, with the modules that this process has and one thread."""
    path = os.pathsep.join(part for part in sys.path if part)
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def start(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """Begin a command in a session of its own, whose processes can be told from all others."""
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def end_session(session: int) -> None:
    """Kill what is left of a session that we began."""
    with suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)


def outlived(session: int) -> bool:
    """Whether a process of the session is there after the time that it may take to end."""
    until = time.monotonic() + ENDING
    while time.monotonic() < until:
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True


def make_inputs(folder: Path) -> None:
    """Data, a bandit, and a checkpoint to certify."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    centers = generator.random((3, 4, 4))
    labels = generator.integers(0, 3, 600)
    inputs = centers[labels] + 0.35 * generator.normal(size=(600, 4, 4))
    np.savez(folder / DATA, x=inputs.astype(np.float32), y=labels)
    contexts = generator.standard_normal((600, 4))
    best = (contexts @ generator.standard_normal((4, 3))).argmax(1)
    np.savez(folder / BANDIT, contexts=contexts, rewards=np.eye(3)[best])
    words = f"train mlp-600 --data {DATA} {SMALL} --posterior k-nonlinear --epochs 1"
    subprocess.run(
        command(*_words(words), "--set", "linear_epochs=1", "-o", CHECKPOINT),
        cwd=folder,
        env=environment(),
        check=True,
        capture_output=True,
    )


def survive(case: Case, kills: int, inputs: Path, root: Path, seed: int) -> Outcome:
    """Kill a command that often; AssertionError where it made a difference.

    Arguments:
        inputs: The folder that `make_inputs` filled.
        root: For the folders of the runs.
        seed: Of the moments.
    """
    clock, outcome = time.monotonic(), Outcome(case.name)
    expected = _undisturbed(case, inputs, root / f"{case.name}-alone", outcome)
    moments = random.Random(f"{case.name} {seed}")
    folder = _fresh(case, inputs, root / f"{case.name}-killed")
    sessions: list[int] = []
    try:
        usual = outcome.undisturbed
        while True:
            resumed = any(folder.glob(case.kept))
            outcome.resumed += resumed
            process, begun = start(case.command(folder), folder), time.monotonic()
            sessions.append(process.pid)
            wait = moments.uniform(0, usual) if outcome.kills < kills else PATIENCE
            try:
                _, complaint = process.communicate(timeout=wait)
            except subprocess.TimeoutExpired:
                assert outcome.kills < kills, f"{case.name} does not come to an end"
                if outcome.kills % 2:
                    process.kill()  # its children find out by themselves
                else:
                    end_session(process.pid)
                process.wait()
                outcome.kills += 1
                continue
            assert process.returncode == 0, f"{case.name} failed: {complaint.decode()}"
            _compare(case, expected, folder)
            outcome.finished += 1
            if not resumed:  # the machine has less to do by now
                usual = min(usual, time.monotonic() - begun)
            if outcome.kills == kills:
                break
            folder = _fresh(case, inputs, folder)
        assert not any(map(outlived, sessions)), f"{case.name} left a process behind"
    finally:
        for session in sessions:
            end_session(session)
    outcome.seconds = time.monotonic() - clock
    outcome.compared = sorted(expected)
    return outcome


def _fresh(case: Case, inputs: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in case.needs:
        shutil.copy(inputs / name, folder / name)
    return folder


def _undisturbed(case: Case, inputs: Path, folder: Path, outcome: Outcome) -> Files:
    _fresh(case, inputs, folder)
    clock = time.monotonic()
    process = start(case.command(folder), folder)
    _, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, f"{case.name} failed: {complaint.decode()}"
    outcome.undisturbed = time.monotonic() - clock
    return _found(case, folder)


def _found(case: Case, folder: Path) -> Files:
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    return {**case.read(folder), "the list of files": files}


def _compare(case: Case, expected: Files, folder: Path) -> None:
    found = _found(case, folder)
    different = [name for name in expected if not _equal(found.get(name), expected[name])]
    assert found.keys() == expected.keys(), f"{case.name} left {sorted(found)}"
    assert not different, f"{case.name}, in {folder}: other {', '.join(different)}: " + str(
        [(found[name], expected[name]) for name in different]
    )


def _equal(one: Any, other: Any) -> bool:
    """Bit by bit, where there are tensors."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return bool(one == other)


# What is compared of a run ----------------------------------------------------------------------


def _without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in names}


def checkpoint(path: Path) -> dict[str, Any]:
    """All of it, but the time that a learned prior took."""
    content: dict[str, Any] = torch.load(path, weights_only=True)
    if "learned_prior" in content:
        content["learned_prior"] = _without(content["learned_prior"], "seconds")
    return content


def log(path: Path) -> list[dict[str, Any]]:
    """The epochs, without times."""
    lines = path.read_text().splitlines()
    return [_without(json.loads(line), "seconds", "prior_seconds") for line in lines]


def certificate(path: Path) -> dict[str, Any]:
    """All of it, but when and how long."""
    content: dict[str, Any] = json.loads(path.read_text())
    content["made"] = _without(content["made"], "date", "times", "command")
    return content


def _training(folder: Path) -> Files:
    return {
        "checkpoint": checkpoint(folder / "run.pt"),
        "log": log(folder / "run.log.jsonl"),
    }


def _certification(folder: Path) -> Files:
    return {"certificate": certificate(folder / "certificate.json")}


def _cells(folder: Path, name: str, read: Callable[[Path], Any]) -> dict[str, Any]:
    paths = sorted((folder / "runs").glob(f"*/{name}"))
    assert paths, f"no {name} in {folder}"
    return {str(path.relative_to(folder)): read(path) for path in paths}


def _table(folder: Path) -> Files:
    return {
        "certificates": _cells(folder, "gibbs.json", certificate),
        "draws": _cells(folder, "draw.json", certificate),
        "checkpoints": _cells(folder, "checkpoint.pt", Path.read_bytes),
        "logs": _cells(folder, "checkpoint.log.jsonl", log),
    }


def _bandit(folder: Path) -> Files:
    def result(path: Path) -> dict[str, Any]:
        return _without(json.loads(path.read_text()), "seconds")

    return {
        "results": _cells(folder, "result.json", result),
        "runs": _cells(folder, "run.npz", Path.read_bytes),
    }


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SMALL = "--set hidden=[8] --set batch=100 --set learning_rate=0.02"
CASES = (
    Case(
        "train",
        _words(
            f"train mlp-600 --data {DATA} {SMALL} --prior learned --set prior_epochs=8 --epochs 12 "
            "--threads 1 -o run.pt"
        ),
        (DATA,),
        _training,
        "*.pt",
        "run.pt",
    ),
    Case(
        "certify",
        _words(f"certify {CHECKPOINT} --weights 400 --samples 400 --workers 2 -o certificate.json"),
        (DATA, CHECKPOINT),
        _certification,
        "*.partial",
    ),
    Case(
        "table",
        _words(
            f"table pac-bayes --network mlp-600 --objective ours --posterior diag {SMALL} "
            f"--set data={DATA} --set epochs=12 --draws 12000 --workers 2 --folder runs"
        ),
        (DATA,),
        _table,
        "runs/*/checkpoint.pt",
    ),
    Case(
        "bandit",
        _words(f"bandit {BANDIT} --agent k-linear --seeds 1 --workers 1 --folder runs"),
        (BANDIT,),
        _bandit,
        "runs/*/state.npz",
    ),
)


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    chosen = [case for case in CASES if case.name in sys.argv[2:] or not sys.argv[2:]]
    with tempfile.TemporaryDirectory(prefix="pacbound-killing-") as name:
        inputs = Path(name) / "inputs"
        make_inputs(inputs)
        print(HEADER, flush=True)
        for case in chosen:
            print(survive(case, kills, inputs, Path(name), seed=0).line(), flush=True)


if __name__ == "__main__":
    main()
