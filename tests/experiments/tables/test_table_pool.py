"""The runner, with cells that take no time: side by side, failing, killed, and twice at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_cells import FakeCell, runs

from pacbound.experiments.tables.cell import Cell, Progress
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.pool import Pool, Watcher


class Notes(Watcher):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def probing(self, kind: str) -> None:
        self.lines.append(f"probing {kind}")

    def redone(self, cell: Cell, flaw: str) -> None:
        self.lines.append(f"{cell.name} {flaw}")

    def elsewhere(self, cell: Cell) -> None:
        self.lines.append(f"{cell.name} elsewhere")

    def started(self, cell: Cell, resumed: Progress | None) -> None:
        self.lines.append(f"{cell.name} {'resumed' if resumed else 'started'}")

    def done(self, cell: Cell, seconds: float | None) -> None:
        self.lines.append(f"{cell.name} done{'' if seconds else ' elsewhere'}")

    def failed(self, cell: Cell, reason: str) -> None:
        self.lines.append(f"{cell.name} failed: {reason}")


def run(cells: list[FakeCell], root: Path, workers: int = 1) -> tuple[Pool, Notes]:
    pool, notes = Pool(cells, root, workers, threads=1), Notes()
    pool.survey(notes)
    pool.run(notes)
    return pool, notes


def wait_for(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """A zombie is dead: only its parent has not heard of it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    cells = [FakeCell("a"), FakeCell("b")]
    _, notes = run(cells, tmp_path)
    assert notes.lines == ["a started", "a done", "b started", "b done"]
    pool, notes = run(cells, tmp_path)
    assert notes.lines == []
    assert len(pool.finished) == 2
    assert [len(runs(cell, tmp_path)) for cell in cells] == [1, 1]


def test_an_unsound_result_is_made_again(tmp_path: Path) -> None:
    cell = FakeCell("a")
    run([cell], tmp_path)
    (Place.of(cell, tmp_path).path / "result").write_text("better")
    _, notes = run([cell], tmp_path)
    assert notes.lines[0] == "a its result was edited"
    assert cell.finished(Place.of(cell, tmp_path).path).finished


def test_side_by_side(tmp_path: Path) -> None:
    cells = [FakeCell("a", "meet"), FakeCell("b", "meet")]  # one after the other, both would fail
    run(cells, tmp_path, workers=2)
    (_, _, a_begins, a_ends), (_, _, b_begins, b_ends) = (runs(cell, tmp_path)[0] for cell in cells)
    assert max(a_begins, b_begins) < min(a_ends, b_ends)


def test_a_cell_waits_for_the_one_that_it_continues(tmp_path: Path) -> None:
    cells = [FakeCell("later", after="first"), FakeCell("first", seconds=0.2), FakeCell("other")]
    _, notes = run(cells, tmp_path, workers=2)
    assert notes.lines.index("later started") > notes.lines.index("first done")
    # one that fails is not waited for
    lost = [FakeCell("b", after="a"), FakeCell("a", "refuse")]
    pool, _ = run(lost, tmp_path, workers=2)
    assert [cell.name for cell in pool.finished] == ["b"]


def test_a_failure_does_not_stop_the_others(tmp_path: Path) -> None:
    bad = [FakeCell("a", "refuse"), FakeCell("b", "break"), FakeCell("c", "vanish")]
    pool, _ = run([*bad, FakeCell("d")], tmp_path, workers=2)
    assert [cell.name for cell in pool.finished] == ["d"]
    assert pool.failures["a"] == "diverged badly"
    assert pool.failures["b"] == "ZeroDivisionError: a fault"
    assert "exit code 3" in pool.failures["c"]
    assert Place.of(bad[0], tmp_path).failure() == "diverged badly"
    assert "Traceback" in Place.of(bad[1], tmp_path).errors.read_text()


def test_the_time_is_measured_before_the_start(tmp_path: Path) -> None:
    pool, notes = Pool([FakeCell("a"), FakeCell("b")], tmp_path, 1, threads=1), Notes()
    pool.survey(notes)
    assert pool.seconds_left() is None
    pool.probe(notes)
    assert notes.lines == ["probing fake"]
    startup = pool.costs.startup  # of each of their two processes
    assert startup > 0
    assert pool.seconds_left() == 50.0 + 2 * startup


def test_what_a_cell_inherits_takes_no_time(tmp_path: Path) -> None:
    first, later = FakeCell("a"), FakeCell("b", after="a")
    for cells, seconds in (([first, later], 30.0), ([later], 25.0)):
        pool = Pool(cells, tmp_path, 1, threads=1)
        pool.survey(Notes())
        pool.costs.add_probe("fake", first.probe(1))
        assert pool.seconds_left() == seconds
    pool = Pool([first, later], tmp_path, 1, threads=1)
    pool.waiting, pool.failures = [later], {"a": "diverged"}
    pool.costs.add_probe("fake", first.probe(1))
    assert pool.seconds_left() == 25.0


def test_a_cell_that_runs_elsewhere_is_left_for_last(tmp_path: Path) -> None:
    first, second = FakeCell("a"), FakeCell("b")
    place = Place.of(first, tmp_path)
    place.make()
    code = (
        "import sys; from pathlib import Path\n"
        "from pacbound.experiments.tables.place import Place\n"
        "place = Place(Path(sys.argv[1]))\n"
        "with place.locked():\n"
        "    print('locked', flush=True); sys.stdin.readline()\n"
        "    (place.path / 'result').write_text('sound')\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    other = subprocess.Popen([sys.executable, "-c", code, place.path], **pipes)
    assert other.stdout is not None
    other.stdout.readline()

    class Telling(Notes):
        def done(self, cell: Cell, seconds: float | None) -> None:
            super().done(cell, seconds)
            if cell.name == "b":
                other.communicate(b"go on\n")  # and it has ended

    pool, notes = Pool([first, second], tmp_path, 1, threads=1), Telling()
    pool.survey(notes)
    pool.run(notes)
    assert notes.lines == ["a elsewhere", "b started", "b done", "a done elsewhere"]
    assert runs(first, tmp_path) == []


SCRIPT = """
import signal, sys
from pathlib import Path
from fake_cells import FakeCell
from pacbound.experiments.tables.pool import Pool, Watcher
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
seconds = float(sys.argv[2])
cells = [FakeCell(name, seconds=seconds) for name in "abcd"]
pool = Pool(cells, Path(sys.argv[1]), workers=2, threads=1)
pool.survey(Watcher())
pool.run(Watcher())
"""


def start(root: Path, seconds: float) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-c", SCRIPT, str(root), str(seconds)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


def test_two_processes_at_once_share_the_work(tmp_path: Path) -> None:
    processes = [start(tmp_path, 0.3) for _ in range(2)]
    assert [process.wait(600) for process in processes] == [0, 0]
    for name in "abcd":
        assert len(runs(FakeCell(name, seconds=0.3), tmp_path)) == 1


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_children_end_with_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    process = start(tmp_path, 60.0)
    cells = [FakeCell(name, seconds=60.0) for name in "ab"]
    wait_for(lambda: all(runs(cell, tmp_path) for cell in cells))
    children = [int(runs(cell, tmp_path)[0][0]) for cell in cells]
    assert all(alive(pid) for pid in children)
    process.send_signal(how)
    assert process.wait(600) != 0
    wait_for(lambda: not any(alive(pid) for pid in children))
    assert not any(Place.of(cell, tmp_path).busy() for cell in cells)
