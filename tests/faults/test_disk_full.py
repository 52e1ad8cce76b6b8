"""A disk that is full while a file is written: one line, and the old file is still there."""

from __future__ import annotations

import queue
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest
from fault_commands import TRAIN, run, said

from pacbound.data import Dataset
from pacbound.data.entry import Entry
from pacbound.errors import PacboundError
from pacbound.experiments.bandit.cell import BanditCell
from pacbound.experiments.bandit.recipes import agent_settings
from pacbound.experiments.pac_bayes.cell import PREDICTORS, PacBayesCell
from pacbound.experiments.tables.cell import Cell
from pacbound.experiments.tables.certified import Certification
from pacbound.experiments.tables.jobs import RunCell
from pacbound.experiments.tables.place import Place
from pacbound.recipes import Settings, recipe
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train

Limit = Callable[[int], AbstractContextManager[None]]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(("size", "what"), [(3000, "run.pt"), (100, "run.log.jsonl")])
def test_of_training(
    size: int, what: str, trained: Path, tiny_file: Path, largest_file: Limit
) -> None:
    before, there = trained.read_bytes(), names(trained.parent)
    with largest_file(size):
        result = run(*TRAIN, "--data", tiny_file, "--epochs", "2", "-o", trained, "--force")
    said(result, f"cannot write {trained.with_name(what)}", "too large")
    assert trained.read_bytes() == before
    assert names(trained.parent) == there


def test_training_goes_on_when_there_is_room_again(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, largest_file: Limit
) -> None:
    whole, parts = tmp_path / "whole.pt", tmp_path / "parts.pt"
    train(tiny_settings, tiny_data, whole)
    with ExitStack() as full, pytest.raises(PacboundError, match="cannot write"):
        train(
            tiny_settings,
            tiny_data,
            parts,
            on_epoch=lambda record: full.enter_context(largest_file(700)),
        )
    assert Checkpoint.load(parts).epoch == 1
    train(tiny_settings, tiny_data, parts, resume=True)
    assert parts.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("size", "what"), [(1500, "certificate.json"), (20, "certificate.json.partial")]
)
def test_of_certification(size: int, what: str, trained: Path, largest_file: Limit) -> None:
    target = trained.with_name("certificate.json")
    target.write_text("old")
    words = ["certify", trained, "--draws", "600", "--workers", "1", "-o", target]
    with largest_file(size):
        said(run(*words), f"cannot write {trained.with_name(what)}:")
    assert target.read_text() == "old"
    assert run(*words).exit_code == 0
    assert run("verify", target).exit_code == 0
    assert names(trained.parent) == ["certificate.json", "run.log.jsonl", "run.pt"]


def test_of_a_report(trained: Path, largest_file: Limit) -> None:
    certificate, page = trained.with_name("c.json"), trained.with_name("report.html")
    words = ["certify", trained, "--draws", "600", "--workers", "1", "-o", certificate]
    assert run(*words).exit_code == 0
    page.write_text("old")
    with largest_file(2000):
        said(run("report", certificate, "-o", page), f"cannot write {page}:")
    assert page.read_text() == "old"
    assert names(trained.parent) == ["c.json", "report.html", "run.log.jsonl", "run.pt"]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_of_a_plot(kind: str, trained: Path, largest_file: Limit) -> None:
    figure = trained.with_name(f"plot.{kind}")
    figure.write_text("old")
    with largest_file(2000):
        said(run("plot", trained, "-o", figure), f"cannot write {figure}:")
    assert figure.read_text() == "old"
    assert names(trained.parent) == [f"plot.{kind}", "run.log.jsonl", "run.pt"]


def attempt(cell: Cell, root: Path) -> dict[str, Any]:
    """What a table's child process says in the end, said by this process."""
    place, events = Place.of(cell, root), list[Any]()
    place.make()
    RunCell(cell, place, 1).do(events.append, queue.SimpleQueue())
    last: dict[str, Any] = events[-1]
    return last


def test_of_a_cell_of_a_table(tiny_settings: Settings, tmp_path: Path, largest_file: Limit) -> None:
    small = recipe("mlp-600", {**tiny_settings.to_mapping(), "posterior": "diag", "epochs": 2})
    cell = PacBayesCell(small, Certification(PREDICTORS, draws=600), "mlp-600", "ours", "diag")
    folder = Place.of(cell, tmp_path).path
    with largest_file(2000):
        last = attempt(cell, tmp_path)
    assert last["event"] == "failed"
    assert last["reason"] == f"cannot write {folder / 'checkpoint.pt'}: File too large"
    assert attempt(cell, tmp_path) == {"event": "done"}
    assert cell.finished(folder).finished
    assert not [name for name in names(folder) if name.startswith(".")]


def test_a_cell_that_cannot_be_locked_fails_in_one_line(
    tiny_settings: Settings, tmp_path: Path
) -> None:
    asked = Certification(PREDICTORS, draws=600)
    cell = PacBayesCell(tiny_settings, asked, "mlp-600", "ours", "diag")
    lock = Place.of(cell, tmp_path).path / "lock"
    lock.mkdir(parents=True)
    events: list[Any] = []
    RunCell(cell, Place.of(cell, tmp_path), 1).do(events.append, queue.SimpleQueue())
    assert events == [{"event": "failed", "reason": f"cannot write {lock}: Is a directory"}]


def test_of_the_state_of_a_bandit_run(
    bandit_file: Path, tmp_path: Path, largest_file: Limit
) -> None:
    cell = BanditCell(str(bandit_file), "linear", 0, agent_settings("linear", str(bandit_file)))
    folder = Place.of(cell, tmp_path).path
    with largest_file(500):
        last = attempt(cell, tmp_path)
    assert last["reason"] == f"cannot write {folder / 'state.npz'}: File too large"
    assert attempt(cell, tmp_path) == {"event": "done"}
    assert names(folder) == ["lock", "result.json", "run.npz"]


def test_of_the_cache(stand_in: Entry, tmp_path: Path, largest_file: Limit) -> None:
    with largest_file(100):
        said(run("data", "get", "mnist"), "cannot write", "train-images", "set PACBOUND_DATA")
    assert not any((tmp_path / "cache" / "mnist").glob("*images*"))
    assert run("data", "get", "mnist").exit_code == 0


def test_of_a_disk_that_is_really_full(small_disk: Path, tiny_file: Path) -> None:
    path = small_disk / "run.pt"
    path.write_text("old")
    result = run(*TRAIN, "--data", tiny_file, "--epochs", "2", "-o", path, "--force")
    said(result, f"cannot write {path}: No space left on device")
    assert path.read_text() == "old"
    assert names(small_disk) == ["run.log.jsonl", "run.pt"]


def test_of_a_whole_table_each_cell_says_so_in_a_line(
    tight_disk: Path, bandit_file: Path, warm_workers: None
) -> None:
    words = ["bandit", bandit_file, "--agent", "linear", "--seeds", "2", "--steps", "60"]
    result = run(*words, "--folder", tight_disk / "runs", "--workers", "1")
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    lines = [line for line in result.stderr.splitlines() if ": failed: " in line]
    assert lines
    for line in lines:
        cell, reason = line.split(": failed: ")
        assert cell.startswith(bandit_file.stem)
        assert "No space left on device" in reason
    assert result.stderr.strip().endswith("failed; the same command tries again")
