"""Commands that are killed at random moments end as those that are not.

Here twice each; `make faults` does it thirty times.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from killing import CASES, Case, Files, make_inputs, survive

from pacbound.experiments.tables.place import Place
from pacbound.files import write_whole

KILLS = 2


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killing") / "inputs"
    make_inputs(folder)
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_made_no_difference(case: Case, inputs: Path, tmp_path: Path) -> None:
    outcome = survive(case, KILLS, inputs, tmp_path, seed=1)
    assert outcome.kills == KILLS
    assert outcome.finished >= 1


def test_the_harness_notices_a_difference(tmp_path: Path) -> None:
    """What a resumed run would leave if it forgot where it was."""
    from killing import _compare

    def read(folder: Path) -> Files:
        return {"count": (folder / "count").read_text()}

    (tmp_path / "count").write_text("2")
    case = Case("count", (), (), read, "count")
    expected = {"count": "2", "the list of files": ["count"]}
    _compare(case, expected, tmp_path)
    with pytest.raises(AssertionError, match="other count"):
        _compare(case, {**expected, "count": "1"}, tmp_path)
    (tmp_path / ".count.abcdefgh.part").touch()
    with pytest.raises(AssertionError, match="other the list of files"):
        _compare(case, expected, tmp_path)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    abandoned = tmp_path / ".run.pt.abcd_123.part"
    others = [".run.pt.swp", ".run.pt.abcdefgh", ".run.pt.bak.part", ".other.pt.abcdefgh.part"]
    for name in (abandoned.name, *others):
        (tmp_path / name).touch()
    write_whole(tmp_path / "run.pt", lambda stream: stream.write(b"whole"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, "run.pt"])


def test_what_a_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    from pacbound.files import _new_temporary, _remove_abandoned

    target = tmp_path / "run.pt"
    with open(_new_temporary(target)[0], "wb"):
        _remove_abandoned(target)
        assert len(list(tmp_path.iterdir())) == 1
    _remove_abandoned(target)
    assert not list(tmp_path.iterdir())


def test_a_finished_cell_loses_what_only_an_unfinished_one_needs(tmp_path: Path) -> None:
    """A kill after the result was written, before the state was removed."""
    place = Place(tmp_path)
    for name in ("state.npz", "result.json"):
        (tmp_path / name).touch()
    with place.locked():
        place.discard(["state.npz", "reached.json"])  # somebody is at work there
    assert (tmp_path / "state.npz").exists()
    place.discard(["state.npz", "reached.json"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "result.json"]
