"""Cells on a real Dask cluster: the same files, through failures and killed workers."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client
from fake_cells import FakeCell, runs

from pacbound.experiments.bandit.cell import BanditCell
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.tables.jobs import RunCell
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.pool import Pool, Watcher
from pacbound.workers.child import Event
from pacbound.workers.cluster import DaskCluster


def run(cells: list[FakeCell] | list[BanditCell], root: Path, address: str = "") -> Pool:
    pool = Pool(cells, root, 2, threads=1, engine=DaskCluster(address) if address else None)
    pool.survey(Watcher())
    pool.run(Watcher())
    return pool


def at_work(pool: Pool) -> bool:
    """Whether every running cell has told of its progress."""
    return bool(pool.running) and all(each.progress for each in pool.running.values())


def test_cells_run_on_the_workers_and_their_files_come_back(tmp_path: Path, address: str) -> None:
    cells = [FakeCell(name, seconds=0.5) for name in "abc"]
    assert len(run(cells, tmp_path, address).finished) == 3
    with Client(address) as client:
        workers = set(client.run(os.getpid).values())
    for cell in cells:
        ((process, threads, *_),) = runs(cell, tmp_path)
        assert process in workers
        assert threads == 1
        assert not Place.of(cell, tmp_path).busy()


def test_a_failure_is_told_and_does_not_stop_the_others(tmp_path: Path, address: str) -> None:
    pool = run([FakeCell("a", "refuse"), FakeCell("b", "break"), FakeCell("c")], tmp_path, address)
    assert [cell.name for cell in pool.finished] == ["c"]
    assert pool.failures == {"a": "diverged badly", "b": "ZeroDivisionError: a fault"}


def test_a_killed_worker_only_delays(tmp_path: Path, address: str) -> None:
    class Killing(Watcher):
        def tick(self) -> None:
            if victims and at_work(pool):
                os.kill(victims.pop(), signal.SIGKILL)

    cells = [FakeCell(name, seconds=3.0) for name in "ab"]
    pool = Pool(cells, tmp_path, 2, threads=1, engine=DaskCluster(address))
    with Client(address) as client:
        victims = [next(iter(client.run(os.getpid).values()))]
        pool.survey(Watcher())
        pool.run(Killing())
    assert len(pool.finished) == 2 and not victims
    assert all(len(runs(cell, tmp_path)) == 1 for cell in cells)


def test_a_bandit_plays_the_same_there(tmp_path: Path, bandit_file: Path, address: str) -> None:
    settings = AgentSettings(minibatches=3, batch=16, hidden=8)
    cells = [BanditCell(str(bandit_file), "k-linear", seed, settings) for seed in (0, 1)]
    for root, scheduler in ((tmp_path / "here", ""), (tmp_path / "there", address)):
        assert len(run(cells, root, scheduler).finished) == 2
    for cell in cells:
        here, there = (cell.record(Place.of(cell, tmp_path / w).path) for w in ("here", "there"))
        assert {**here, "seconds": 0} == {**there, "seconds": 0}


def test_a_pool_that_stops_leaves_the_cell_to_others(tmp_path: Path, address: str) -> None:
    class Impatient(Watcher):
        def tick(self) -> None:
            if at_work(pool):
                raise KeyboardInterrupt

    cell = FakeCell("a", "report", seconds=60.0)
    pool = Pool([cell], tmp_path, 1, threads=1, engine=DaskCluster(address))
    pool.survey(Watcher())
    with pytest.raises(KeyboardInterrupt):
        pool.run(Impatient())
    until = time.monotonic() + 600
    while Place.of(cell, tmp_path).busy():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_cell_that_nobody_waits_for_frees_its_worker(tmp_path: Path, address: str) -> None:
    with Client(address) as other:
        threads = sum(other.nthreads().values())
        cells = [FakeCell(f"long {n}", "report", seconds=60.0) for n in range(threads)]
        clients = [DaskCluster(address) for _ in cells]
        begun: queue.Queue[tuple[str, Event]] = queue.Queue()
        places = [Place(tmp_path / cell.name) for cell in cells]
        for place, cell, cluster in zip(places, cells, clients, strict=True):
            place.make()
            cluster.begin(cell.name, RunCell(cell, place, 1), begun)
        waiting = {cell.name for cell in cells}
        while waiting:
            name, event = begun.get(timeout=600)
            assert event["event"] == "progress"
            waiting.discard(name)
        for cluster in clients:
            cluster.client.close()
        assert other.submit(abs, -1, pure=False).result(timeout=600) == 1


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """One that can be killed, with one worker: its address and its process."""
    file, python = tmp_path / "scheduler.json", [sys.executable, "-m"]
    common = ["--no-dashboard", "--scheduler-file", str(file)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # of the cells here
    quiet: Any = {"stderr": subprocess.DEVNULL, "env": environment}
    words = ["distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1", *common]
    process = subprocess.Popen([*python, *words], **quiet)
    until = time.monotonic() + 600
    while not file.exists() or not file.read_text():
        assert time.monotonic() < until
        time.sleep(0.1)
    words = ["distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", *common]
    worker = subprocess.Popen([*python, *words], **quiet)
    address = json.loads(file.read_text())["address"]
    with Client(address, timeout=600, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=600)
    yield address, process
    for each in (worker, process):
        each.kill()
        each.wait()


def test_a_lost_scheduler_is_told(
    tmp_path: Path,
    scheduler: tuple[str, subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pacbound.workers.scheduler.PATIENCE", 300.0)  # to find it, when busy
    address, process = scheduler
    place, told = Place(tmp_path / "a"), queue.Queue[tuple[str, Event]]()
    place.make()
    cluster = DaskCluster(address)
    cluster.begin("a", RunCell(FakeCell("a", seconds=3000.0), place, 1), told)
    assert told.get(timeout=600)[1]["event"] == "progress"
    cluster.client._timeout = 2.0  # for so long it tries to connect again when it is lost
    process.kill()
    _, event = told.get(timeout=600)
    assert event["event"] == "failed"
    assert "lost the Dask scheduler" in event["reason"]
    assert "the same command continues" in event["reason"]
