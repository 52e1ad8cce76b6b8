"""Files that changed between two runs are noticed: got anew, made anew or refused, never used."""

from __future__ import annotations

import queue
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from fault_commands import TRAIN, run, said
from stand_in_source import FolderSource, fetch_whole

from pacbound.data.entry import Entry
from pacbound.experiments.bandit.cell import STATE, BanditCell
from pacbound.experiments.bandit.play import play
from pacbound.experiments.bandit.problems import load_problem
from pacbound.experiments.bandit.recipes import agent_settings
from pacbound.experiments.tables.jobs import RunCell
from pacbound.experiments.tables.place import Place

Damage = Callable[[Path], None]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def into_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [flip, truncate])
def test_a_damaged_file_is_got_anew(damage: Damage, stand_in: Entry, tmp_path: Path) -> None:
    assert run("data", "get", "mnist").exit_code == 0
    for file in stand_in.files:
        path = tmp_path / "cache" / "mnist" / file.name
        whole = path.read_bytes()
        damage(path)
        again = run("data", "get", "mnist")
        assert again.exit_code == 0, again.output
        assert "from cache, folder" in again.stdout
        assert path.read_bytes() == whole


@pytest.mark.parametrize("damage", [flip, truncate, into_a_folder])
def test_a_damaged_file_is_refused_where_nobody_has_it(
    damage: Damage, stand_in: Entry, tmp_path: Path
) -> None:
    assert run("data", "get", "mnist").exit_code == 0
    name = stand_in.files[0].name
    damage(tmp_path / "cache" / "mnist" / name)
    if damage is not into_a_folder:
        (tmp_path / "source" / name).write_bytes(b"other")
    result = run(*TRAIN, "--data", "mnist", "-o", tmp_path / "run.pt")
    said(result, "cannot write" if damage is into_a_folder else "pacbound data add mnist")
    assert not (tmp_path / "run.pt").exists()


@pytest.mark.parametrize("damage", [flip, truncate])
def test_a_damaged_prior_is_refused(damage: Damage, tiny_file: Path, tmp_path: Path) -> None:
    words = [*TRAIN, "--data", tiny_file, "--prior", "learned", "--set", "prior_epochs=1"]
    words += ["--epochs", "1", "-o", tmp_path / "run.pt"]
    assert run(*words).exit_code == 0
    (prior,) = tmp_path.glob("prior-*.pt")
    damage(prior)
    said(run(*words, "--force"), f"{prior} is not a prior (delete it and retrain)")


def test_a_damaged_state_of_a_bandit_run_is_begun_anew(bandit_file: Path, tmp_path: Path) -> None:
    """Each byte in turn, in steps: what describes the archive can be hit too."""
    settings = agent_settings("linear", str(bandit_file))
    cell = BanditCell(str(bandit_file), "linear", 0, settings)
    problem = load_problem(str(bandit_file), 0)
    expected = play(problem, "linear", settings, 0, checkpoint=tmp_path / "state.npz")
    state = (tmp_path / "state.npz").read_bytes()
    place = Place.of(cell, tmp_path)
    places = [*range(0, len(state), len(state) // 8), *range(len(state) - 200, len(state), 7)]
    for number in places:
        place.make()
        damaged = bytearray(state)
        damaged[number] ^= 0xFF
        (place.path / STATE).write_bytes(damaged)
        events: list[object] = []
        RunCell(cell, place, 1).do(events.append, queue.SimpleQueue())
        assert events[-1] == {"event": "done"}, number
        assert cell.record(place.path)["regret"] == expected.regret[-1]
        (place.path / "result.json").unlink()


def test_two_processes_fetch_the_same_at_once(stand_in: Entry, tmp_path: Path) -> None:
    slow = replace(stand_in, sources=(FolderSource(str(tmp_path / "source"), seconds=0.05),))
    folder = tmp_path / "cache" / "mnist"
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        for _ in range(10):
            both = [pool.submit(fetch_whole, slow) for _ in range(2)]
            assert [one.result() for one in both] == [True, True]
            names = sorted(path.name for path in folder.iterdir())
            assert names == sorted(file.name for file in slow.files)
            shutil.rmtree(folder)
