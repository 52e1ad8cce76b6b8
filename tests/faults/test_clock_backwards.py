"""A clock that is set back changes nothing: no wrong order, no negative times."""

from __future__ import annotations

import itertools
import json
import os
import queue
import time
from functools import partial
from pathlib import Path

import pytest
from fault_commands import TRAIN, run

from pacbound.experiments.bandit import cell as bandit_cell
from pacbound.experiments.bandit import play as playing
from pacbound.experiments.bandit.cell import PLAYING, REACHED, BanditCell
from pacbound.experiments.bandit.recipes import agent_settings
from pacbound.experiments.tables.costs import Costs
from pacbound.experiments.tables.jobs import RunCell
from pacbound.experiments.tables.place import Place
from pacbound.training.log import TrainingLog

NOW = 2_000_000_000
HOUR = 3600.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks at the clock of the wall finds it an hour earlier than the last time."""
    hours = itertools.count()
    monkeypatch.setattr(time, "time", lambda: NOW - HOUR * next(hours))
    monkeypatch.setattr(time, "time_ns", lambda: int((NOW - HOUR * next(hours)) * 1e9))


def test_training_and_certification(tiny_file: Path, tmp_path: Path) -> None:
    path, target = tmp_path / "run.pt", tmp_path / "c.json"
    words = [*TRAIN, "--data", tiny_file, "--posterior", "diag", "--epochs", "3", "-o", path]
    assert run(*words).exit_code == 0
    for file in tmp_path.iterdir():  # as if written in the future, or before there were clocks
        os.utime(file, (2 * NOW, 2 * NOW) if file == path else (-HOUR, -HOUR))
    seconds = [record.seconds for record in TrainingLog(tmp_path / "run.log.jsonl").records()]
    assert len(seconds) == 3
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0
    words = ["certify", path, "--draws", "600", "--workers", "1", "-o", target]
    assert run(*words).exit_code == 0
    times = json.loads(target.read_text())["made"]["times"]
    assert float(times["certify"]) >= 0
    assert float(times["train"]) >= 0
    assert run("verify", target).exit_code == 0


def test_a_cell_and_what_it_costs(
    bandit_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = agent_settings("linear", str(bandit_file), overrides={"train_every": 20})
    cells = [BanditCell(str(bandit_file), "linear", seed, settings) for seed in (0, 1)]
    written: list[dict[str, float]] = []

    hours = itertools.count()
    monkeypatch.setattr(bandit_cell, "modified", lambda path: -HOUR * next(hours))
    monkeypatch.setattr(playing, "play", partial(playing.play, save_every=0))
    monkeypatch.setattr(
        bandit_cell._Reached,
        "write",
        lambda self: written.append(dict(self._last)) if self._last else None,
    )
    for cell in cells:
        place, events = Place.of(cell, tmp_path), list[object]()
        place.make()
        RunCell(cell, place, 1).do(events.append, queue.SimpleQueue())
        assert events[-1] == {"event": "done"}
        assert not (place.path / REACHED).exists()
    assert len(written) > 10  # the state is noticed to be new although its date is older
    assert all(note["seconds"] >= 0 for note in written)
    pace = Costs(cells, tmp_path).pace(cells[0].kind, PLAYING)
    assert pace is not None
    assert pace >= 0
