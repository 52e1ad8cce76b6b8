"""Cells on a real Dask cluster: the same files, through failures and killed workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from distributed import Client
from fake_cells import FakeCell, runs

from pacbound.bandit.settings import AgentSettings
from pacbound.tables.bandit.cell import BanditCell
from pacbound.tables.place import Place
from pacbound.tables.pool import Pool, Watcher
from pacbound.tables.remote import Cluster


def run(cells: list[FakeCell] | list[BanditCell], root: Path, address: str = "") -> Pool:
    pool = Pool(cells, root, 2, threads=1, begin=Cluster(address) if address else None)
    pool.survey(Watcher())
    pool.run(Watcher())
    return pool


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
    cells = [FakeCell(name, seconds=3.0) for name in "ab"]
    with Client(address) as client:
        victim = next(iter(client.run(os.getpid).values()))
        threading.Timer(1.5, os.kill, (victim, signal.SIGKILL)).start()
        assert len(run(cells, tmp_path, address).finished) == 2
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
            if time.monotonic() > until:
                raise KeyboardInterrupt

    until = time.monotonic() + 1.5
    cell = FakeCell("a", seconds=60.0)
    pool = Pool([cell], tmp_path, 1, threads=1, begin=Cluster(address))
    pool.survey(Watcher())
    with pytest.raises(KeyboardInterrupt):
        pool.run(Impatient())
    until = time.monotonic() + 10
    while Place.of(cell, tmp_path).busy():
        assert time.monotonic() < until
        time.sleep(0.05)
