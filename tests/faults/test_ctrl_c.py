"""Ctrl-C ends a command with one line and exit code 130, also when it is pressed twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from fault_commands import TRAIN, run
from killing import environment

# A shell's background job ignores Ctrl-C, and so would what it starts.
ENTRY = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from pacbound_cli import main; main()"
)


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ENTRY, *map(str, arguments)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def press(process: subprocess.Popen[str], times: int, pause: float = 0.03) -> str:
    """Ctrl-C goes to all processes of a terminal; what the command then says."""
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(pause)
    _, said = process.communicate(timeout=900)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    return said


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 900
    while not path.exists():
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("times", [1, 2])
def test_training(times: int, tiny_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    process = start(*TRAIN, "--data", tiny_file, "--epochs", 100_000, "-o", path)
    wait_for(path, process)
    said = press(process, times)
    if times == 1:
        assert said.splitlines()[-1] == f"stopped; the same command with --resume continues {path}"
    assert torch.load(path, weights_only=True)["epoch"] >= 1
    left = {p.name for p in tmp_path.iterdir()}
    assert left == {"run.pt", "run.log.jsonl"} or times == 2


def test_certification_twice(trained: Path) -> None:
    target = trained.with_name("c.json")
    partial = trained.with_name("c.json.partial")
    words = ["certify", trained, "--draws", 100_000_000, "--workers", 2, "-o", target]
    process = start(*words)
    wait_for(partial, process)
    assert "stopped" in press(process, 2)
    assert not target.exists()
    assert {p.name for p in trained.parent.iterdir()} == {
        "c.json.partial",
        "run.log.jsonl",
        "run.pt",
    }


def test_before_the_first_epoch_ends_there_is_nothing_to_resume(
    tiny_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pacbound.api.fitting.train", interrupted)
    result = run(*TRAIN, "--data", tiny_file, "-o", tmp_path / "run.pt")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "stopped; the same command starts again"


def test_where_a_command_has_nothing_of_its_own_to_say(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pacbound.report.training_log.read_training_log", interrupted)
    result = run("plot", trained, "--json")
    assert (result.exit_code, result.stderr) == (130, "stopped; the same command starts again\n")
