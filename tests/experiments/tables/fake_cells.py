"""Cells that take no time, for tests of the runner; importable by child processes."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pacbound.errors import PacboundError
from pacbound.experiments.tables.cell import Measured, Progress, Report, Verdict


@dataclass(frozen=True)
class FakeCell:
    """Notes when it ran, and does what `action` says."""

    name: str
    action: str = "work"
    seconds: float = 0.0
    after: str = ""  # the name of a cell that it continues

    kind = "fake"
    data = ""
    scratch = ()

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.name} {self.seconds}".encode()).hexdigest()

    def fetch(self, progress: object) -> None:
        pass

    def inherits(self, other: object) -> tuple[str, ...]:
        return ("working",) if isinstance(other, FakeCell) and other.name == self.after else ()

    def work(self) -> Mapping[str, float]:
        return {"working": 2.0, "checking": 1.0}

    def run(self, folder: Path, threads: int, report: Report) -> None:
        with (folder / "runs").open("a") as stream:
            stream.write(f"{os.getpid()} {threads} {time.time()} ")
        report(Progress("working", 1.0, "half of it"))
        if self.action == "refuse":
            raise PacboundError("diverged\nbadly")
        if self.action == "break":
            raise ZeroDivisionError("a fault")
        if self.action == "vanish":
            os._exit(3)
        print("a library that prints")
        if self.action == "meet":
            _meet(folder.parent, 2)
        until = time.monotonic() + self.seconds
        while self.action == "report" and time.monotonic() < until:
            time.sleep(0.3)
            report(Progress("working", 1.0, "half of it"))
        time.sleep(max(0.0, until - time.monotonic()))
        with (folder / "runs").open("a") as stream:
            stream.write(f"{time.time()}\n")
        (folder / "result").write_text("sound")

    def finished(self, folder: Path) -> Verdict:
        path = folder / "result"
        if not path.exists():
            return Verdict(False)
        sound = path.read_text() == "sound"
        return Verdict(sound, "" if sound else "its result was edited")

    def progress(self, folder: Path) -> Progress | None:
        return Progress("working", 1.0, "half of it") if (folder / "runs").exists() else None

    def measured(self, folder: Path) -> list[Measured]:
        return []

    def probe(self, threads: int) -> Mapping[str, float]:
        return {"working": 10.0, "checking": 5.0}


def _meet(root: Path, count: int) -> None:
    """Wait until so many cells have begun, however long their processes take to start."""
    until = time.monotonic() + 600
    while sum(path.stat().st_size > 0 for path in root.glob("*/runs")) < count:
        assert time.monotonic() < until, "no other cell has begun"
        time.sleep(0.02)


def runs(cell: FakeCell, root: Path) -> list[list[float]]:
    """Of every run of a cell: process, threads, begin and, if it got there, end."""
    path = root / f"{cell.name}-{cell.digest[:12]}" / "runs"
    if not path.exists():
        return []
    return [[float(word) for word in line.split()] for line in path.read_text().splitlines()]
