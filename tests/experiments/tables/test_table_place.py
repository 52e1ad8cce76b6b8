"""A cell's folder: one process at a time, and nothing left behind by a kill."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_cells import FakeCell

from pacbound.errors import PacboundError
from pacbound.experiments.tables.place import Place
from pacbound.workers.jobs import Busy


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place.of(FakeCell("a"), tmp_path)
    made.make()
    return made


def test_another_digest_is_another_folder(tmp_path: Path) -> None:
    first, second = FakeCell("a"), FakeCell("a", seconds=1.0)
    assert Place.of(first, tmp_path) != Place.of(second, tmp_path)
    assert Place.of(first, tmp_path).path.name == f"a-{first.digest[:12]}"


def test_a_lock_is_held_by_one(place: Place) -> None:
    assert not place.busy()
    with place.locked():
        assert place.busy()
        with pytest.raises(Busy), place.locked(patience=0.1):
            pass
    assert not place.busy()
    with place.locked():
        pass


def test_a_lock_ends_with_its_process(place: Place) -> None:
    child = os.fork()
    if child == 0:
        with place.locked():
            os._exit(0)
    os.waitpid(child, 0)
    assert not place.busy()


def test_looking_makes_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path / "none")
    assert not place.busy()
    assert place.failure() == ""
    assert list(tmp_path.iterdir()) == []


def test_tidying_removes_halves_of_files_and_old_failures(place: Place) -> None:
    (place.path / ".checkpoint.pt.x1").write_text("half")
    (place.path / "checkpoint.pt").write_text("whole")
    place.fail("diverged")
    assert place.failure() == "diverged"
    place.tidy()
    assert place.failure() == ""
    assert sorted(path.name for path in place.path.iterdir()) == ["checkpoint.pt"]


def test_a_place_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PacboundError, match="cannot write"):
        Place(tmp_path / "file" / "a").make()
