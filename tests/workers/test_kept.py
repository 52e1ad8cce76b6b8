"""Finished chunks in a file: whatever happens to it, no wrong result comes out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from counting_work import Squares
from hypothesis import given
from hypothesis import strategies as st

from pacbound.errors import PacboundError
from pacbound.predictors.chunks import Sampler
from pacbound.workers.kept import Kept

RESULTS = {0: 7, 1: [1.5, -0.1], 2: [[1e-300, 3]], 10: 0}


def filled(path: Path) -> Kept:
    kept = Kept(path)
    for number, result in RESULTS.items():
        kept.add("work", number, result)
    return kept


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    kept = filled(tmp_path / "new" / "partial")
    assert kept.found("work") == Kept(kept.path).found("work") == RESULTS
    assert kept.found("other work") == {}
    kept.remove()
    assert not kept.path.exists()
    assert kept.found("work") == {}


@given(st.data())
def test_a_damaged_file_gives_fewer_results_and_no_wrong_ones(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("kept") / "partial"
    filled(path)
    content = bytearray(path.read_bytes())
    how = data.draw(st.sampled_from(["cut", "change", "insert"]))
    place = data.draw(st.integers(0, len(content) - 1))
    if how == "cut":
        del content[place:]
    elif how == "change":
        content[place] ^= data.draw(st.integers(1, 255))
    else:
        content[place:place] = data.draw(st.binary(max_size=50))
    path.write_bytes(content)
    found = Kept(path).found("work")
    assert found.items() <= RESULTS.items()
    Kept(path).add("work", 11, 5)  # and it goes on
    assert Kept(path).found("work") == {**found, 11: 5}


def test_only_what_is_missing_is_done(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "partial")
    told: list[int] = []
    sampler = Sampler(report=lambda what, done, total: told.append(done), kept=kept)
    sampler.results("counting", Squares(3))
    assert told == [0, 1, 2, 3]
    told.clear()
    results = sampler.results("counting", Squares(5))
    assert told == [3, 4, 5]
    assert [square for square, _ in results] == [0, 1, 4, 9, 16]


def test_what_another_wrote_is_not_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = filled(tmp_path / "partial")
    monkeypatch.setenv("PACBOUND_DATA", str(tmp_path / "another user's"))
    assert Kept(kept.path).found("work") == {}
    (key,) = (tmp_path / "another user's").iterdir()
    assert key.stat().st_mode & 0o777 == 0o600
    Kept(kept.path).add("work", 5, 1)
    assert Kept(kept.path).found("work") == {5: 1}


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target, kept = tmp_path / "precious", Kept(tmp_path / "partial")
    target.write_text("mine")
    kept.path.symlink_to(target)
    with pytest.raises(PacboundError, match="not a regular file"):
        kept.found("work")
    with pytest.raises(PacboundError, match="cannot write"):
        kept.add("work", 0, 1)
    assert target.read_text() == "mine"


def test_without_a_place_for_the_key_nothing_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PACBOUND_DATA", str(tmp_path / "file" / "cache"))
    kept = filled(tmp_path / "partial")
    assert kept.found("work") == RESULTS
    assert Kept(kept.path).found("work") == {}


def test_work_that_has_become_other_work_begins_anew(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "partial")
    Sampler(kept=kept).results("counting", Squares(5))
    for chunks in (2, 5):  # and what was begun anew is not mixed with what was there
        results = Sampler(kept=kept).results("counting", Squares(chunks, plus=1))
        assert [square for square, _ in results] == [1, 2, 5, 10, 17][:chunks]


def test_other_versions_begin_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = filled(tmp_path / "partial")
    monkeypatch.setattr("pacbound.workers.kept.__version__", "another")
    assert kept.found("work") == {}


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    kept = Kept(Path("/dev/full"))
    if not os.path.exists("/dev/full"):
        pytest.skip("no such device here")
    with pytest.raises(PacboundError, match="cannot write /dev/full"):
        kept.add("work", 0, 1)
