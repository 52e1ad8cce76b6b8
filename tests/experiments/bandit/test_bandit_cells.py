"""A run as a cell: the figures of `play`, resumed after a kill, and checked when it is done."""

from __future__ import annotations

import json
import os
import pickle
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pacbound.errors import PacboundError
from pacbound.experiments.bandit import play as playing
from pacbound.experiments.bandit.cell import PLAYING, BanditCell
from pacbound.experiments.bandit.play import play
from pacbound.experiments.bandit.problems import load_problem
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.tables.cell import Progress

QUICK = AgentSettings(hidden=8, minibatches=5, batch=16, learning_rate=0.01, flow_hidden=(4,))


@pytest.fixture
def cell(bandit_file: Path) -> BanditCell:
    return BanditCell(str(bandit_file), "k-linear", 1, QUICK)


def silent(progress: Progress) -> None:
    pass


@pytest.fixture
def finished(cell: BanditCell, tmp_path: Path) -> Path:
    folder = tmp_path / "finished"
    folder.mkdir()
    cell.run(folder, 1, silent)
    return folder


# What is written ----------------------------------------------------------------------------


def test_the_figures_are_those_of_play(cell: BanditCell, finished: Path) -> None:
    problem = load_problem(cell.problem, seed=1)
    run = play(problem, "k-linear", QUICK, seed=1)
    fixed = play(problem, "fixed", QUICK, seed=1)
    assert cell.finished(finished).finished
    record = cell.record(finished)
    assert record["problem"] == "small"
    assert record["steps"] == problem.steps
    assert record["regret"] == run.regret[-1]
    assert record["normalized_regret"] == run.normalized[-1]
    assert record["reward"] == pytest.approx(run.rewards.sum())
    assert record["uniform_regret"] == problem.uniform_regret()
    assert record["best_fixed_arm"]["arm"] == fixed.arms[0]
    assert record["best_fixed_arm"]["normalized_regret"] == pytest.approx(fixed.normalized[-1])
    with np.load(finished / "run.npz") as arrays:
        assert arrays["arms"].dtype == np.uint8
        np.testing.assert_array_equal(arrays["arms"], run.arms)
        assert arrays["regret"].dtype == np.float32
        np.testing.assert_allclose(arrays["regret"], run.regret, rtol=1e-6)
    curve = record["curve"]
    assert len(curve["steps"]) == 100
    at = np.array(curve["steps"]) - 1
    np.testing.assert_allclose(curve["normalized_regret"], run.normalized[at], atol=1e-4)
    assert sorted(path.name for path in finished.iterdir()) == ["result.json", "run.npz"]
    assert [one.stage for one in cell.measured(finished)] == [PLAYING]


def test_a_stream_cut_short_is_the_beginning(cell: BanditCell, tmp_path: Path) -> None:
    short = replace(cell, steps=60, agent="linear")
    short.run(tmp_path, 1, silent)
    run = play(load_problem(cell.problem, 1, steps=60), "linear", QUICK, 1)
    assert short.record(tmp_path)["normalized_regret"] == run.normalized[-1]
    assert short.record(tmp_path)["steps"] == 60


def test_progress_shows_the_running_regret(cell: BanditCell, tmp_path: Path) -> None:
    told: list[Progress] = []
    cell.run(tmp_path, 1, told.append)
    assert [one.stage for one in told] == [PLAYING] * len(told)
    assert told[-1].done == 1.0
    last = cell.record(tmp_path)["normalized_regret"]
    steps, _, shown = told[-1].text.partition("  regret ")
    assert steps == "step 320/320"
    # The record is rounded, so that a half of the last digit may go the other way.
    assert float(shown.removesuffix(" %")) == pytest.approx(last, abs=0.0051)


def test_the_speed_is_measured_in_a_trial(cell: BanditCell) -> None:
    for one in (cell, replace(cell, steps=30)):
        assert 0 < one.probe(1)[PLAYING] < 60
    assert set(cell.work()) == {PLAYING}


# A kill -------------------------------------------------------------------------------------


def killed_at(cell: BanditCell, folder: Path, step: int) -> None:
    """Run it in a process that kills itself as soon as it is so far."""

    def kill(progress: Progress) -> None:
        if progress.done * 320 >= step:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        cell.run(folder, 1, kill)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


def test_kill_minus_nine_and_resume(
    cell: BanditCell, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "play", partial(play, save_every=0))
    folder = tmp_path / "killed"
    folder.mkdir()
    killed_at(cell, folder, 200)
    assert not cell.finished(folder).finished
    reached = cell.progress(folder)
    assert reached is not None
    assert reached.text.startswith("step 150/320  regret ")
    (measured,) = cell.measured(folder)
    assert measured.amount == 150 / 320
    told: list[Progress] = []
    cell.run(folder, 1, told.append)
    assert told[0].done == 200 / 320
    assert cell.finished(folder).finished
    assert (folder / "run.npz").read_bytes() == (finished / "run.npz").read_bytes()
    first, second = cell.record(folder), cell.record(finished)
    assert first["seconds"] >= measured.seconds  # what was spent before the kill counts
    del first["seconds"], second["seconds"]
    assert first == second
    assert sorted(path.name for path in folder.iterdir()) == ["result.json", "run.npz"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half"])
def test_a_broken_state_is_as_good_as_none(
    content: bytes, cell: BanditCell, finished: Path, tmp_path: Path
) -> None:
    (tmp_path / "state.npz").write_bytes(content)
    (tmp_path / "reached.json").write_bytes(content)
    assert cell.progress(tmp_path) is None
    assert cell.measured(tmp_path) == []
    cell.run(tmp_path, 1, silent)
    assert (tmp_path / "run.npz").read_bytes() == (finished / "run.npz").read_bytes()


def test_a_state_of_an_older_version_is_as_good_as_none(
    cell: BanditCell, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "play", partial(play, save_every=0))
    with monkeypatch.context() as older:
        older.setattr(playing, "FORMAT", "pacbound-bandit-run/1")
        killed_at(cell, tmp_path, 200)
    assert (tmp_path / "state.npz").exists()
    cell.run(tmp_path, 1, silent)
    assert (tmp_path / "run.npz").read_bytes() == (finished / "run.npz").read_bytes()


# What counts as finished --------------------------------------------------------------------


def edited(**changes: object) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "result.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return edit


@pytest.mark.parametrize(
    ("spoil", "flaw"),
    [
        (lambda folder: (folder / "run.npz").unlink(), "cannot be read"),
        (lambda folder: (folder / "run.npz").write_bytes(b"PK"), "another run.npz"),
        (lambda folder: (folder / "result.json").write_text("{"), "not a complete result"),
        (edited(curve={}), "not a complete result"),
        (edited(regret=None), "not a complete result"),
        (edited(format="other"), "not a complete result"),
        (edited(regret=1.0), "does not match"),
        (edited(normalized_regret=1.0), "does not match"),
        (edited(seed=2), "another seed"),
        (edited(agent="diag"), "another agent"),
        (edited(problem="other"), "another problem"),
        (edited(settings={"noise": 3.0}), "other settings"),
        (edited(settings={"noisy": 3.0}), "unknown setting"),
    ],
)
def test_a_spoilt_result_does_not_count(
    spoil: Callable[[Path], None], flaw: str, cell: BanditCell, finished: Path
) -> None:
    spoil(finished)
    verdict = cell.finished(finished)
    assert not verdict.finished
    assert flaw in verdict.flaw


def test_nothing_there_is_no_flaw(cell: BanditCell, tmp_path: Path) -> None:
    assert cell.finished(tmp_path) == cell.finished(tmp_path / "none")
    assert cell.finished(tmp_path).flaw == ""
    assert cell.progress(tmp_path) is None


# The digest ---------------------------------------------------------------------------------


def test_whatever_changes_the_run_changes_the_digest(cell: BanditCell, tmp_path: Path) -> None:
    others = [
        replace(cell, agent="diag"),
        replace(cell, seed=2),
        replace(cell, steps=100),
        replace(cell, settings=replace(QUICK, noise=2.0)),
        replace(cell, problem="statlog"),
    ]
    assert len({one.digest for one in (cell, *others)}) == len(others) + 1
    assert pickle.loads(pickle.dumps(cell)).digest == cell.digest
    # A file is known by its content and its name, wherever it is.
    copy = tmp_path / "small.npz"
    copy.write_bytes(Path(cell.problem).read_bytes())
    assert replace(cell, problem=str(copy)).digest == cell.digest
    copy.write_bytes(b"other")
    assert replace(cell, problem=str(copy)).digest != cell.digest


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    cell = BanditCell(str(tmp_path / "none.npz"), "diag", 0, QUICK)
    with pytest.raises(PacboundError, match="no file"):
        _ = cell.digest
